"""Converters from annotation formats to TFRecord files, over one common writer."""
