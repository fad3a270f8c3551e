"""Adapters for agents' frameworks: one module each, and each exports ``guard_tools``.

No framework is imported until ``guard_tools`` is given tools of it, and none is a dependency.
"""
