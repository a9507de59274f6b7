"""The science, each module one noun: imports ``ground`` and its own floor, never a stage."""
