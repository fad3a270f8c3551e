// `args.user-id` is a subtraction, and was probably meant as the field "user-id".

import { textOf } from './reads.ts';
import type { Node } from './syntax.ts';

interface Hyphenated {
  /** What stands before the field, such as `args`. */
  owner: string[];
  field: string;
  /** Where the field ends in the condition. */
  end: number;
}

/** How the field is written that a subtraction without spaces looks like, such as `args["user-id"]`, or null. */
export function hyphenatedField(node: Node): string | null {
  const found = node.kind === 'binary' ? hyphenated(node) : null;
  return found === null ? null : textOf([...found.owner, found.field]);
}

function hyphenated(node: Node): Hyphenated | null {
  if (node.kind === 'select') {
    const owner = namesOf(node.operand);
    return owner && { owner, field: node.field, end: node.fieldOffset + node.field.length };
  }
  if (node.kind !== 'binary' || node.operator !== '-') return null;
  const left = hyphenated(node.left);
  const name = firstName(node.right);
  const adjoining = left?.end === node.operatorOffset && node.right.offset === node.operatorOffset + 1;
  if (left === null || name === null || !adjoining) return null;
  return { owner: left.owner, field: `${left.field}-${name}`, end: node.right.offset + name.length };
}

function namesOf(node: Node): string[] | null {
  if (node.kind === 'name') return [node.name];
  const owner = node.kind === 'select' ? namesOf(node.operand) : null;
  return owner && node.kind === 'select' ? [...owner, node.field] : null;
}

/** The name with which a node begins: `id` of `id`, `id.x` and `id[0]`. */
export function firstName(node: Node): string | null {
  if (node.kind === 'name') return node.name;
  return node.kind === 'select' || node.kind === 'index' ? firstName(node.operand) : null;
}
