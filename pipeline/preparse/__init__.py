"""The stage `preparse`: sentences of U → constituency trees."""
