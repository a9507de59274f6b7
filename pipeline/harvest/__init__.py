"""The stage `harvest`: natural coordinations of training text → candidates."""
