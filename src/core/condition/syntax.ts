// The syntax tree of a condition. Every node knows where it stands, for the messages.

import type { Value } from './values.ts';

export const MACROS = ['all', 'exists', 'exists_one', 'filter', 'map'] as const;
export type Macro = (typeof MACROS)[number];
export type BinaryOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | '+' | '-' | '*' | '/' | '%';

export type Node = { offset: number } & (
  | { kind: 'literal'; value: Value; type: 'null' | 'bool' | 'int' | 'double' | 'string' }
  | { kind: 'name'; name: string }
  | { kind: 'select'; operand: Node; field: string; fieldOffset: number }
  | { kind: 'has'; operand: Node; field: string; fieldOffset: number }
  | { kind: 'index'; operand: Node; index: Node }
  | { kind: 'call'; target: Node | null; name: string; arguments: Node[]; nameOffset: number }
  | {
      kind: 'macro';
      name: Macro;
      range: Node;
      variable: string;
      /** Only of `map` with three arguments: which elements are taken. */
      only: Node | null;
      body: Node;
    }
  | { kind: 'not' | 'negate'; operand: Node }
  | { kind: 'binary'; operator: BinaryOperator; left: Node; right: Node; operatorOffset: number }
  | { kind: 'and' | 'or'; terms: Node[] }
  | { kind: 'choice'; condition: Node; yes: Node; no: Node }
  | { kind: 'list'; items: Node[] }
  | { kind: 'map'; entries: { key: Node; value: Node }[] }
);

export type NodeOf<K extends Node['kind']> = Extract<Node, { kind: K }>;
