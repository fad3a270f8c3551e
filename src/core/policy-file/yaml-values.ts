// Values of a YAML document as plain data, and where they stand.

import { isMap, isScalar, isSeq, type Node } from 'yaml';
import type { Fields } from '../policy/field-type.ts';

export function offsetOf(node: Node | null | undefined): number {
  return node?.range?.[0] ?? 0;
}

/**
 * What is written there: a scalar, a list, or the known fields of a map. What is none of these becomes null, which no
 * field may be.
 */
export function plainOf(node: unknown, known: Fields): unknown {
  if (isScalar(node)) return node.value;
  if (isSeq(node)) return node.items.map(item => (isSeq(item) ? null : plainPart(item, known)));
  return plainPart(node, known);
}

function plainPart(node: unknown, known: Fields): unknown {
  if (isScalar(node)) return node.value;
  const fields = Object.keys(known);
  if (!isMap(node) || fields.length === 0) return null;
  const present = fields.filter(field => node.has(field));
  return Object.fromEntries(
    present.map(field => [field, plainOf(node.get(field, true), known[field]?.type.parts ?? {})]),
  );
}

/** A step behind a field, as in `escalate.notify[0]`. */
export function stepText(step: string | number): string {
  return typeof step === 'number' ? `[${step}]` : `.${step}`;
}
