// P12: what was checked is what is forwarded. Bodies made to be read in two ways (duplicate keys, `__proto__`, odd
// Unicode, long numbers, extra fields, headers that disagree) go to an upstream that keeps the bytes it gets; what
// it got must mean what the client said, and what is ambiguous must not arrive. The mutants read loosely.

import { expect, test } from 'bun:test';
import { figures, inTime, random, SEED, withMutant } from '../support/faults.ts';
import {
  auditOf,
  connect,
  envelope,
  LegacyClient,
  postMcp,
  RecordingUpstream,
  unrecorded,
} from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { startService } from '../support/service.ts';
import { sized, whenChanged } from '../support/when-changed.ts';

const BODIES = sized(12_000, 1000, 400);

const LOOSE_JSON: Patch = {
  file: 'src/http/agent/mcp.ts',
  find: 'return parseJsonBytes(bytes, MAX_CHECK_VALUES);',
  replace: 'return JSON.parse(new TextDecoder().decode(bytes));',
};
const HEADERS_UNREAD: Patch = {
  file: 'src/mcp/modern.ts',
  find: "if (name === null || readHeaderValue(name) !== params[namedBy]) throw mismatch('Mcp-Name');",
  replace: 'void (name, namedBy, readHeaderValue);',
};
const PROTOTYPES: Patch = {
  file: 'src/mcp/translate.ts',
  find: '{ name: toolName, ...input,',
  replace: '{ name: toolName, ...input, arguments: Object.assign({}, input.arguments),',
};

test('what reaches the upstream means what was checked', async () => {
  const found = await inTime(() => measure());
  expect(found.forwarded).toBeGreaterThan(BODIES / 4);
  expect(found.refused).toBeGreaterThan(BODIES / 20);
  expect(found.mismatches).toEqual([]);
});

for (const [name, patch] of Object.entries({ LOOSE_JSON, HEADERS_UNREAD, PROTOTYPES })) {
  whenChanged(patch)(`a mutant that reads loosely (${name}) is found out`, async () => {
    const found = await withMutant([patch], async root => (await measure(root)).mismatches.length);
    expect(found).toBeGreaterThan(0);
  });
}

interface Found {
  /** Not recorded in time, and so not forwarded. */
  late: number;
  forwarded: number;
  refused: number;
  mismatches: string[];
}

async function measure(root?: string): Promise<Found> {
  const upstream = new RecordingUpstream({
    tools: ['echo', 'secret'].map(name => ({ name, inputSchema: { type: 'object' } })),
    onCall: () => ({ content: [] }),
  });
  const service = await startService(root === undefined ? {} : { root });
  const { key, keyId } = await service.newKey([{ tool: 'echo', action: 'allow' }]);
  await connect(service, keyId, 'up', upstream.url);
  const client = await LegacyClient.open(service, key);
  await client.tools();
  const fuzz = new Fuzz(random(SEED));
  const found: Found = { late: 0, forwarded: 0, refused: 0, mismatches: [] };
  try {
    for (let sent = 0; sent < BODIES && !(root !== undefined && found.mismatches.length > 0); sent++) {
      const before = upstream.calls.length;
      const body = fuzz.body();
      const headers = body.modern ? body.headers : { 'Mcp-Session-Id': client.sessionId };
      const said = await postMcp(service, key, body.text, { headers });
      if (unrecorded(said)) found.late++;
      const arrived = upstream.calls.slice(before);
      if (arrived.length === 0) found.refused++;
      else found.forwarded++;
      const wrong = fault(
        body,
        arrived.map(each => each.text),
        said.status,
      );
      if (wrong !== null) found.mismatches.push(`${wrong}: ${body.text}`);
    }
    const allowed = (await auditOf(service, keyId)).filter(each => each.decision === 'allow');
    if (allowed.some(each => each.toolName !== 'echo')) found.mismatches.push('another tool was allowed');
    if (allowed.length !== upstream.calls.length) found.mismatches.push('entries and calls differ in number');
  } finally {
    await service.close();
    await upstream.stop();
  }
  const { forwarded, refused, mismatches } = found;
  figures(`P12${root === undefined ? '' : ' mutant'}`, {
    seed: SEED,
    operations: forwarded + refused,
    forwarded,
    refused,
    violations: mismatches.length,
  });
  return found;
}

function fault(body: Body, arrived: string[], status: number): string | null {
  if (body.ambiguous) return arrived.length > 0 ? 'an ambiguous body was forwarded' : null;
  if (body.tool !== 'echo') return arrived.length > 0 ? 'a denied tool was reached' : null;
  if (arrived.length !== 1) return `arrived ${arrived.length} times, with status ${status}`;
  const { params } = meaning(arrived[0] as string);
  const wanted = meaning(body.forwarded);
  return sorted(params) === sorted(wanted) ? null : 'it means something else';
}

interface Body {
  text: string;
  modern: boolean;
  headers: Record<string, string>;
  tool: string;
  /** Read differently by different readers, or nested too deep: must not be forwarded. */
  ambiguous: boolean;
  /** What the upstream has to be told, in meaning. */
  forwarded: string;
}

const KEYS = [
  'a',
  '\\u0061',
  '__proto__',
  'constructor',
  'toJSON',
  'text',
  'name',
  'arguments',
  '',
  'ключ',
  'b',
];
const STRINGS = [
  '',
  'x',
  '\\u0000',
  '\\ud800',
  'e\u0301',
  '\u202eabc',
  '\\"',
  '\u{1f600}',
  '\\ud83d\\ude00',
  '\u2028',
];
const NUMBERS = [
  '0',
  '-0',
  '1e2',
  '1E+2',
  '12345678901234567890',
  '-9007199254740993',
  '0.1000000000000000055511151231257827',
  '1e400',
  '1.50',
  '4.9e-324',
  '123456789012345678901234567890.5e-3',
];

/** JSON texts, with a note of whether any object in them has a key twice. */
class Fuzz {
  readonly #chance: () => number;
  #twice = false;

  constructor(chance: () => number) {
    this.#chance = chance;
  }

  body(): Body {
    this.#twice = false;
    const tool = this.#one(['echo', 'echo', 'echo', 'echo', 'secret']);
    const modern = this.#chance() < 0.4;
    const deep = this.#chance() < 0.02;
    const args = deep ? `{"d":${'['.repeat(70)}${']'.repeat(70)}}` : this.#object(3);
    const vendor = this.#value(2);
    const meta = modern ? JSON.stringify(envelope()).slice(1, -1) : '"progressToken":"p"';
    const extra = this.#chance() < 0.3 ? `,"extra":${this.#value(1)},"task":{"ttl":1}` : '';
    const repeated = this.#chance() < 0.03 ? ',"name":"up__secret"' : '';
    if (repeated !== '') this.#twice = true;
    const params = `{"name":"up__${tool}","arguments":${args},"_meta":{${meta},"vendor/x":${vendor}}${extra}${repeated}}`;
    const text = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`;
    const wrongHeader = modern && this.#chance() < 0.15;
    const other = tool === 'echo' ? 'secret' : 'echo';
    const headers = {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': `up__${wrongHeader ? other : tool}`,
    };
    const forwarded = `{"name":"${tool}","arguments":${args},"_meta":{"vendor/x":${vendor}}}`;
    return { text, modern, headers, tool, ambiguous: this.#twice || deep || wrongHeader, forwarded };
  }

  #value(depth: number): string {
    const kind = this.#chance();
    if (depth > 0 && kind < 0.25) return this.#object(depth - 1);
    if (depth > 0 && kind < 0.4) return `[${this.#value(depth - 1)}, ${this.#value(depth - 1)}]`;
    if (kind < 0.7) return this.#one(NUMBERS);
    if (kind < 0.95) return `"${this.#one(STRINGS)}"`;
    return this.#one(['true', 'false', 'null']);
  }

  #object(depth: number): string {
    const members: string[] = [];
    const seen = new Set<string>();
    for (let left = Math.floor(this.#chance() * 4); left > 0; left--) {
      const key = this.#one(KEYS);
      const read = JSON.parse(`"${key}"`);
      if (seen.has(read) && this.#chance() < 0.8) continue;
      if (seen.has(read)) this.#twice = true;
      seen.add(read);
      members.push(`"${key}"${this.#one(['', ' ', '\n'])}:${this.#value(depth)}`);
    }
    return `{${members.join(', ')}}`;
  }

  #one<T>(from: T[]): T {
    return from[Math.floor(this.#chance() * from.length)] as T;
  }
}

/** A text as a value in which numbers are kept by their exact decimal meaning. Our own parser has no part in it. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the text says
function meaning(text: string): any {
  const numbers = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;
  const exact = text.replace(numbers, token =>
    token.startsWith('"') ? token : `"number ${decimal(token)}"`,
  );
  const value = JSON.parse(exact);
  const meta = value.params?._meta;
  if (meta !== undefined) {
    for (const key of Object.keys(meta)) if (!key.startsWith('vendor/')) delete meta[key];
  }
  return value;
}

function decimal(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map(key => `${JSON.stringify(key)}:${sorted(Reflect.get(value, key))}`).join()}}`;
}
