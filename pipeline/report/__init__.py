"""The stage `report`: all results → one page."""
