"""Files .npy and .npz whose first axis is the records."""
