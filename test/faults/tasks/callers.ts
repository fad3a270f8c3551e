// Who makes the calls of a round, and which. A key may ask about tasks 600 times a minute, so there are many of them,
// each with a few calls to different tools. Every other key makes its calls with a session.

import type { Rule } from '../../../src/core/policy/policy.ts';
import { connect } from '../../support/mcp.ts';
import type { TestService } from '../../support/service.ts';
import type { Manner } from './ledger.ts';
import { CALLS, KINDS, type Kind, needsApproval, type Order, serverName } from './orders.ts';
import type { Tokens } from './truth.ts';

const RULES: Rule[] = [
  { tool: 'asked*', action: 'require_approval' },
  { tool: 'both*', action: 'require_approval' },
  { tool: '*', action: 'allow' },
];
const SHARES: Record<Kind, number> = { asked: 10, both: 4, keyed: 5, once: 3, checked: 2 };
const DRAWN = KINDS.flatMap(kind => Array.from({ length: SHARES[kind] }, () => kind));
const WAYS: Record<Manner, number> = { quick: 4, slow: 5, 'dies first': 1, 'dies after': 1, served: 2 };
const MANNERS = Object.entries(WAYS).flatMap(([manner, share]) =>
  Array.from({ length: share }, () => manner as Manner),
);

interface Beginning {
  service: TestService;
  /** Of the tool server. */
  url: string;
  keys: number;
  chance: () => number;
  round: number;
}

export class Callers {
  readonly orders: Order[] = [];
  readonly tokens: Tokens;
  readonly siblings: Tokens;
  /** Of a key that makes no call. */
  readonly stranger: string;

  static async begin({ service, url, keys, chance, round }: Beginning): Promise<Callers> {
    const tokens = new Map<string, string>();
    const siblings = new Map<string, string>();
    const { key: stranger } = await service.newKey(RULES);
    const callers = new Callers(tokens, siblings, stranger);
    for (let number = 0; number < keys; number++) {
      const { key, keyId } = await service.newKey(RULES);
      await connect(service, keyId, serverName, url);
      const [own, sibling] = [await newSession(service, key), await newSession(service, key)];
      const token = number % 2 === 0 ? key : own.token;
      tokens.set(number % 2 === 0 ? keyId : own.id, token);
      siblings.set(keyId, sibling.token);
      for (let call = 0; call < CALLS; call++) {
        const order = newOrder(chance, call, `${round}-${number}-${call}`);
        callers.orders.push({ ...order, keyId, token });
      }
    }
    return callers;
  }

  private constructor(tokens: Tokens, siblings: Tokens, stranger: string) {
    this.tokens = tokens;
    this.siblings = siblings;
    this.stranger = stranger;
  }
}

async function newSession(service: TestService, key: string): Promise<{ id: string; token: string }> {
  return (await service.json('POST', '/v1/sessions', key, {})).body;
}

function newOrder(chance: () => number, call: number, n: string): Omit<Order, 'keyId' | 'token'> {
  const kind = pick(chance, DRAWN);
  const manner = pick(chance, MANNERS);
  const order = { kind, tool: `${kind}${call}`, args: { n, manner, ms: Math.floor(chance() * 150) } };
  const [cancels, repeats] = [chance() < 0.1, chance() < 0.3];
  const waits = needsApproval(order);
  return { ...order, cancels: waits && cancels, repeats: waits && repeats };
}

function pick<T>(chance: () => number, list: readonly T[]): T {
  return list[Math.floor(chance() * list.length)] as T;
}
