"""Decoders of the records that the input pipeline reads."""
