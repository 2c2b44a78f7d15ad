"""COCO's JSON files: instances and person keypoints."""
