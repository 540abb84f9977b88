"""Metrics, runs over judged questions, and calibration of the evidence gate."""
