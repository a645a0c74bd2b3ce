"""Answers on tables and series that a user would meet, beside what else could be picked: one module per question."""
