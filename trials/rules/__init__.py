"""Combinations that are known not to work, found before any boot."""

from trials.rules.book import REMARKS, RULES, forbidden, remarks, rules_for
from trials.rules.rule import Combination, Rule

__all__ = ["REMARKS", "RULES", "Combination", "Rule", "forbidden", "remarks", "rules_for"]
