"""Whole models, all layers trained, compared by loss, start and length."""
