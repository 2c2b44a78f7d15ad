"""COCO's JSON files: instances, keypoints, captions and panoptic maps, streamed, never whole.

Format: https://cocodataset.org/#format-data
"""
