"""The releases of SGLang whose rules are modeled."""

from kvplan.core.versions import releases

_RELEASES = "0.4: 3 4 5 6 7 8 9 10 / 0.5: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23"
VERSIONS = releases(_RELEASES)
"""Releases from 0.4.3 on, oldest first; read were 0.4.3, 0.4.6.post5, 0.4.7.post1, 0.4.9.post6, 0.5.1, 0.5.2, 0.5.3.post3, 0.5.6.post2,
0.5.9, 0.5.11, 0.5.13, 0.5.18 and 0.5.23."""
