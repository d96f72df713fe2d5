"""What the built-in samples are made of."""

SHOWN_SUMS = ((12, 7), (30, 11), (8, 45), (21, 14))
SUMS = ((25, 13), (14, 32), (6, 53), (41, 27))

FUNCTIONS = (
    ("def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n\n\ndef multiply(a, b):\n    return", "a * b"),
    (
        "def first(items):\n    return items[0]\n\n\ndef second(items):\n    return items[1]\n\n\ndef third(items):\n    return",
        "items[2]",
    ),
    ("def largest(items):\n    return max(items)\n\n\ndef smallest(items):\n    return", "min(items)"),
)

WORDS = (
    *("apple", "river", "stone", "candle", "window", "garden", "silver", "thunder", "pencil", "orange", "forest", "bridge"),
    *("copper", "velvet", "anchor", "meadow", "lantern", "basket", "winter", "shadow", "carpet", "engine", "violin", "harbor"),
    *("pepper", "ladder", "desert", "mirror", "button", "castle", "feather", "island", "jacket", "kettle", "marble", "needle"),
    *("oyster", "pillow", "rabbit", "saddle", "teapot", "valley", "wallet", "yellow", "acorn", "blanket", "cradle"),
)
"""Their number is prime, so that any step through them meets each once."""

NAMES = (("Marta", "blue key"), ("Jonas", "old bridge"), ("Clara", "north gate"))

SENTENCES = (
    "The market opens early on Tuesdays.",
    "A long road runs along the coast.",
    "Bread is baked in the square every morning.",
    "The river is shallow in the summer.",
    "Most of the houses are built of gray stone.",
    "There is a small museum behind the church.",
    "In autumn the hills turn red and gold.",
    "The train from the city takes two hours.",
    "Fishing boats leave before the sun is up.",
    "A band plays in the park on holidays.",
    "The school has a garden with apple trees.",
    "Snow is rare, but the wind is strong.",
    "Two bakers and one butcher share the street.",
    "The clock on the tower is always late.",
    "Visitors like the view from the wall.",
    "The well in the yard has been dry for years.",
    "On clear days the islands can be seen.",
    "The library closes at six in the evening.",
    "An old mill stands at the end of the lane.",
)
"""The same: nineteen of them."""
