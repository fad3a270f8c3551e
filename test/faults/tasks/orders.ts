// What the clients of this world are told to do, and what they write down: before each step, so that a client that was
// killed goes on where it was, as an agent does that keeps the ids of its tasks.

import type { Manner } from './ledger.ts';

/**
 * `asked`: a call that needs approval. `keyed`: one that is allowed, with an idempotency key. `both`: one that needs
 * approval, with a key. `once`: one that is allowed, without a key, which is never repeated. `checked`: /v1/check with a key.
 */
export const KINDS = ['asked', 'keyed', 'both', 'once', 'checked'] as const;
export type Kind = (typeof KINDS)[number];
/** How many calls a key makes, each to another tool. */
export const CALLS = 4;
/** Those of the tool server. */
export const TOOLS = KINDS.flatMap(kind => Array.from({ length: CALLS }, (_, call) => `${kind}${call}`));

export interface Order {
  kind: Kind;
  /** Whose call it is. */
  keyId: string;
  token: string;
  /** No other call of the same key goes to this tool. */
  tool: string;
  args: { n: string; manner: Manner; ms: number };
  /** Whether the client cancels its task at some moment, and whether it repeats its call although it has a task. */
  cancels: boolean;
  repeats: boolean;
}

export interface Orders {
  /** Of each replica. */
  urls: string[];
  seed: number;
  orders: Order[];
}

/** What a client has seen of the call `n`. */
export type Note =
  | { n: string; step: 'sent' }
  | { n: string; step: 'task'; taskId: string }
  /** A task has ended, in this way. */
  | { n: string; step: 'ended'; taskId: string; status: string; text: string }
  /** A call was answered with a result or a verdict. */
  | { n: string; step: 'answered'; text: string; toolCallId?: string }
  /** Nothing is left to do. */
  | { n: string; step: 'done' };

export const serverName = 'up';
export const needsApproval = ({ kind }: Pick<Order, 'kind'>): boolean => kind === 'asked' || kind === 'both';
export const hasKey = ({ kind }: Pick<Order, 'kind'>): boolean => kind !== 'asked' && kind !== 'once';
