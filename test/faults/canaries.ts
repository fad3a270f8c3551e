// Marked arguments for the promise that arguments reach no disk and no log: markers, the spellings in which
// one could turn up, requests that carry them into every corner, and the search for them in files.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Reply, type TestService, unlessStalled } from '../support/service.ts';

const MARK = 'Canary';

/** Hands out one marker per place, and knows which place a marker was put in. */
export class Canaries {
  readonly #places = new Map<string, string>();

  at(place: string): string {
    const bytes = crypto.getRandomValues(new Uint8Array(15));
    const marker = `${MARK}${Buffer.from(bytes).toString('base64').replace(/[+/]/g, 'x')}`;
    this.#places.set(marker, place);
    return marker;
  }

  /** Digits that no other number begins with, for an argument that is a number. */
  digits(place: string): string {
    const bytes = crypto.getRandomValues(new Uint8Array(15));
    const text = `9${Array.from(bytes, byte => byte % 10)
      .join('')
      .slice(0, 14)}`;
    this.watch(place, text);
    return text;
  }

  /** A text that is secret as it is. */
  watch(place: string, text: string): void {
    this.#places.set(text, place);
  }

  get size(): number {
    return this.#places.size;
  }

  /** Every spelling, with the place it gives away. */
  spellings(): Map<string, string> {
    const found = new Map<string, string>();
    for (const [text, place] of this.#places) {
      for (const part of partsOf(text)) for (const each of spellings(part)) found.set(each, place);
    }
    return found;
  }
}

/** A marker is looked for by either half of what is random in it, because a part of it must not be anywhere either. */
function partsOf(text: string): string[] {
  const random = text.startsWith(MARK) ? text.slice(MARK.length) : '';
  return random === '' ? [text] : [random.slice(0, 10), random.slice(10)];
}

function spellings(text: string): string[] {
  const bytes = Buffer.from(text);
  const hex = bytes.toString('hex');
  const escaped = (digits: (code: string) => string) =>
    [...text].map(char => `\\u${digits(char.charCodeAt(0).toString(16).padStart(4, '0'))}`).join('');
  return [
    text,
    text.toLowerCase(),
    text.toUpperCase(),
    ...[0, 1, 2].map(shift => base64Within(bytes, shift)),
    hex,
    hex.toUpperCase(),
    escaped(code => code),
    escaped(code => code.toUpperCase()),
  ];
}

/** The part of a base64 text that stays the same whatever surrounds the bytes, at one of three alignments. */
function base64Within(bytes: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), bytes])
    .toString('base64')
    .replace(/=+$/, '');
  return text.slice(shift === 0 ? 0 : 4, -3);
}

/** The places whose markers are in these files, folders and texts, in any spelling. */
export function searchFor(canaries: Canaries, paths: string[], texts: string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-canaries-'));
  const spelt = canaries.spellings();
  const list = join(folder, 'spellings');
  writeFileSync(list, [...spelt.keys()].join('\n'));
  const written = texts.map((text, index) => {
    const file = join(folder, `text-${index}`);
    writeFileSync(file, text);
    return file;
  });
  const grep = Bun.spawnSync(['grep', '-raohF', '-f', list, '--', ...paths, ...written], {
    env: { LC_ALL: 'C', PATH: process.env['PATH'] },
  });
  rmSync(folder, { recursive: true });
  // A file that vanished meanwhile is no fault; whatever else grep could not read is.
  const complaints = grep.stderr.toString().replace(/.*No such file or directory\n/g, '');
  if (complaints !== '') throw new Error(complaints);
  const matches = grep.stdout.toString().split('\n').filter(Boolean);
  return [...new Set(matches.map(match => spelt.get(match) ?? match))];
}

const JSON_TYPE = 'application/json';

interface Sent {
  place: string;
  body: (marker: string) => string | Uint8Array | ReadableStream;
  type?: string;
  path?: string;
  token?: string;
  expected: number;
}

const call = (toolName: string, rest: string) => `{"serverName":"files","toolName":"${toolName}",${rest}}`;
const escaped = (marker: string) =>
  [...marker].map(char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

/** Calls that are checked: `status` is 200, or 500 while the audit log cannot be written. */
export function checkedCalls(when: string, status: number): Sent[] {
  const shapes: Record<string, (marker: string) => string> = {
    'a value': marker => `"args":{"path":"${marker}"}`,
    'a key': marker => `"args":{"${marker}":1}`,
    'a nested value': marker => `"args":{"a":[{"b":{"c":["${marker}"]}}]}`,
    'an escaped value': marker => `"args":{"path":"${escaped(marker)}"}`,
    'a base64 value': marker => `"args":{"path":"${btoa(marker)}"}`,
  };
  return Object.entries(shapes).flatMap(([shape, args]) =>
    ['allowed', 'denied', 'asked'].map(tool => ({
      place: `${shape} of a call that is ${tool}, ${when}`,
      body: (marker: string) => call(tool, args(marker)),
      expected: status,
    })),
  );
}

/** Requests that are refused before they are checked. */
export const REFUSED: Sent[] = [
  {
    place: 'a cut body',
    body: marker => call('allowed', `"args":{"a":"${marker}`).slice(0, -1),
    expected: 400,
  },
  { place: 'text after the body', body: marker => `${call('allowed', '"args":{}')}${marker}`, expected: 400 },
  { place: 'a bare word', body: marker => call('allowed', `"args":${marker}`), expected: 400 },
  {
    place: 'a duplicate key',
    body: marker => call('allowed', `"args":{"${marker}":1,"${marker}":2}`),
    expected: 400,
  },
  { place: 'a bad escape', body: marker => call('allowed', `"args":{"a":"${marker}\\x"}`), expected: 400 },
  {
    place: 'a byte order mark',
    body: marker => `\ufeff${call('allowed', `"args":{"a":"${marker}"}`)}`,
    expected: 400,
  },
  {
    place: 'invalid UTF-8',
    body: marker =>
      Buffer.concat([Buffer.from(call('allowed', `"args":{"a":"${marker}`)), Buffer.from([0xff, 0xfe])]),
    expected: 400,
  },
  {
    place: 'a deep body',
    body: marker => call('allowed', `"args":{"a":${'['.repeat(70)}"${marker}"${']'.repeat(70)}}`),
    expected: 400,
  },
  {
    place: 'arguments of a wrong type',
    body: marker => call('allowed', `"args":"${marker}"`),
    expected: 400,
  },
  {
    place: 'an unknown field',
    body: marker => call('allowed', `"${marker}":{"${marker}":1}`),
    expected: 400,
  },
  { place: 'a referenceId', body: marker => call('allowed', `"referenceId":"${marker}"`), expected: 400 },
  {
    place: 'an oversized body',
    body: marker => call('allowed', `"args":{"a":"${marker}${'x'.repeat(1024 * 1024)}"}`),
    expected: 413,
  },
  {
    place: 'an oversized body in chunks',
    body: marker =>
      new Blob([call('allowed', `"args":{"a":"${marker}${'x'.repeat(1024 * 1024)}"}`)]).stream(),
    expected: 413,
  },
  {
    place: 'a wrong content type',
    type: 'text/plain',
    body: marker => call('allowed', `"args":{"a":"${marker}"}`),
    expected: 415,
  },
  {
    place: 'a form',
    type: 'application/x-www-form-urlencoded',
    body: marker => `args=${marker}`,
    expected: 415,
  },
  {
    place: 'a body without a valid credential',
    token: `tg_key_${'0'.repeat(49)}`,
    body: marker => call('allowed', `"args":{"a":"${marker}"}`),
    expected: 401,
  },
  {
    place: 'a body nowhere',
    path: '/v1/nothing',
    body: marker => call('allowed', `"args":{"a":"${marker}"}`),
    expected: 404,
  },
];

export async function send(
  service: TestService,
  token: string,
  canaries: Canaries,
  sent: Sent,
): Promise<Reply> {
  const once = () =>
    service.request('POST', sent.path ?? '/v1/check', {
      headers: { Authorization: `Bearer ${sent.token ?? token}`, 'Content-Type': sent.type ?? JSON_TYPE },
      body: sent.body(canaries.at(sent.place)) as string,
    });
  const reply = await unlessStalled(once, ({ status }) => status === 500);
  if (reply.status !== sent.expected) throw new Error(`${sent.place}: ${reply.status} ${reply.text}`);
  return reply;
}
