// Marked results for the promise that nothing leaves that was to be hidden: something to be found at every place where a
// tool server can say something, each time a new one, and what the client should be left with.

import { made } from '../core/detectors/made.ts';
import { error, type Heard, raw, streamed } from '../support/mcp.ts';
import type { Canaries } from './canaries.ts';

// biome-ignore lint/suspicious/noExplicitAny: a server says anything
type Any = any;

/** A find of one of the formats that the policy hides, and the name under which it does. */
export interface Format {
  name: string;
  make: () => string;
}

const hex = (bytes: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex');

export const PATTERN = 'CNRY-[0-9a-f]{24}';
export const DIGITS = '9[0-9]{14}';
export const FORMATS: readonly Format[] = [
  { name: 'email', make: () => `u${hex(12)}@example.org` },
  { name: 'mark', make: () => `CNRY-${hex(12)}` },
  {
    name: 'secrets',
    make: () => made('npm_{A30}{github}', below => crypto.getRandomValues(new Uint32Array(1))[0]! % below),
  },
  {
    name: 'phone',
    make: () => `+4915${String(crypto.getRandomValues(new Uint32Array(1))[0]).padStart(10, '7')}`,
  },
];

/**
 * What the client is left with: a placeholder in the place of the find, an error, or the same answer as if the find had never
 * been sent.
 */
type Left = 'hidden' | 'withheld' | 'nothing';

export interface Place {
  left: Left;
  /** The answer of the server; `find` is new for each call. */
  answer: (find: string, heard: Heard, digits: string) => unknown;
}

const text = (said: string): Any => ({ content: [{ type: 'text', text: said }] });
const CLEAN = text('clean');
const rpc = (heard: Heard, result: Any): Any => ({ jsonrpc: '2.0', id: heard.id, result });
const log = (data: Any): Any => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'error', logger: 'up', data },
});

/** The same text sent in pieces of one character, of which some end within a character of two bytes. */
function inPieces(type: string, whole: string): Response {
  return raw(type, async write => {
    for (const each of whole) write(each);
  });
}

export const PLACES: Record<string, Place> = {
  text: { left: 'hidden', answer: find => text(`It is ${find}.`) },
  'several texts': {
    left: 'hidden',
    answer: find => ({ content: [CLEAN.content[0], { type: 'text', text: `${find} and ${find}` }] }),
  },
  'JSON in pieces': {
    left: 'hidden',
    answer: (find, heard) => inPieces('application/json', JSON.stringify(rpc(heard, text(`ü ${find} ü`)))),
  },
  'events in pieces': {
    left: 'hidden',
    answer: (find, heard) =>
      inPieces('text/event-stream', `event: message\ndata: ${JSON.stringify(rpc(heard, text(find)))}\n\n`),
  },
  'an event of several lines': {
    left: 'hidden',
    answer: (find, heard) => {
      const pretty = JSON.stringify(rpc(heard, text(find)), null, 2);
      return inPieces('text/event-stream', `data: ${pretty.replaceAll('\n', '\ndata: ')}\n\n`);
    },
  },
  'structured content': {
    left: 'hidden',
    answer: find => ({ ...CLEAN, structuredContent: { found: [{ deep: `<${find}>` }] } }),
  },
  'a name in structured content': {
    left: 'withheld',
    answer: find => ({ ...CLEAN, structuredContent: { [find]: true } }),
  },
  'a number in structured content': {
    left: 'withheld',
    answer: (_, __, digits) => ({ ...CLEAN, structuredContent: { id: Number(digits) } }),
  },
  _meta: { left: 'hidden', answer: find => ({ ...CLEAN, _meta: { 'x/y': { by: find } } }) },
  'a name in _meta': { left: 'withheld', answer: find => ({ ...CLEAN, _meta: { [find]: 1 } }) },
  'an unknown field': { left: 'hidden', answer: find => ({ ...CLEAN, other: { more: [find] } }) },
  'an error text': { left: 'hidden', answer: find => ({ ...text(`Failed for ${find}`), isError: true }) },
  'the message of an error': { left: 'hidden', answer: (find, heard) => error(heard, -32000, find) },
  'the data of an error': {
    left: 'hidden',
    answer: (find, heard) => error(heard, -32001, 'no', { of: [find] }),
  },
  'a name in the data of an error': {
    left: 'withheld',
    answer: (find, heard) => error(heard, -32001, 'no', { [find]: 1 }),
  },
  'the code of an error': {
    left: 'withheld',
    answer: (_, heard, digits) => error(heard, Number(digits), 'no'),
  },
  'a link': {
    left: 'hidden',
    answer: find => ({
      content: [
        { type: 'resource_link', uri: `https://x.test/${find}`, name: find, title: find, description: find },
      ],
    }),
  },
  'a resource': {
    left: 'hidden',
    answer: find => ({
      content: [{ type: 'resource', resource: { uri: `a:${find}`, text: find, mimeType: 'text/plain' } }],
    }),
  },
  'a blob of text': {
    left: 'nothing',
    answer: find => ({
      content: [{ type: 'resource', resource: { uri: 'a:b', blob: btoa(`It is ${find}.`) } }],
    }),
  },
  'a blob that is no text': {
    left: 'withheld',
    answer: find => ({
      content: [{ type: 'resource', resource: { uri: 'a:b', blob: btoa(`\xff${find}\xfe`) } }],
    }),
  },
  'an unknown block': { left: 'hidden', answer: find => ({ content: [{ type: 'odd', in: { a: find } }] }) },
  'a log message': {
    left: 'hidden',
    answer: (find, heard) =>
      streamed(send => {
        send(log({ said: find }));
        send(rpc(heard, CLEAN));
      }),
  },
  'a name in a log message': {
    left: 'nothing',
    answer: (find, heard) =>
      streamed(send => {
        send(log({ [find]: 'said' }));
        send(rpc(heard, CLEAN));
      }),
  },
  'a progress message': {
    left: 'hidden',
    answer: (find, heard) =>
      streamed(send => {
        const { progressToken } = heard.params._meta ?? {};
        const params = { progressToken, progress: 1, message: find };
        send({ jsonrpc: '2.0', method: 'notifications/progress', params });
        send(rpc(heard, CLEAN));
      }),
  },
  'a question to the user': {
    left: 'hidden',
    answer: find => ({
      resultType: 'input_required',
      inputRequests: { q: { method: 'elicitation/create', params: { message: find } } },
      requestState: find,
    }),
  },
  'more text than is looked at': {
    left: 'withheld',
    answer: find => text(`${'x '.repeat(3_000_000)}${find}`),
  },
  'a status that is an error': { left: 'nothing', answer: find => new Response(find, { status: 500 }) },
  'what is no message': { left: 'nothing', answer: find => new Response(`{"said": "${find}"`) },
};

/** What a client whose call is a task is not told: notifications, and questions that nobody could answer. */
export const UNSAID = /message$|question/;

/** A task of a tool server. */
export function serverTask(taskId: string, more: Any): Any {
  const at = new Date().toISOString();
  const times = { createdAt: at, lastUpdatedAt: at, ttlMs: 60_000, pollIntervalMs: 10 };
  return { taskId, status: 'working', ...times, ...more };
}

const ended = (result: Any): Any => ({ status: 'completed', result: { resultType: 'complete', ...result } });

/** The places of a task of a tool server. */
export const STATES: Record<string, { left: Left; state: (...of: Parameters<Place['answer']>) => object }> = {
  'its result': { left: 'hidden', state: find => ended(text(`It is ${find}.`)) },
  'the structured content of its result': {
    left: 'hidden',
    state: find => ended({ ...CLEAN, structuredContent: { found: [{ deep: find }] } }),
  },
  'a name in its result': { left: 'withheld', state: find => ended({ ...CLEAN, _meta: { [find]: 1 } }) },
  'a number in its result': {
    left: 'withheld',
    state: (_, __, digits) => ended({ ...CLEAN, structuredContent: { id: Number(digits) } }),
  },
  'its error': {
    left: 'hidden',
    state: find => ({ status: 'failed', error: { code: -32000, message: find, data: { of: [find] } } }),
  },
  'a name in the data of its error': {
    left: 'withheld',
    state: find => ({ status: 'failed', error: { code: -32000, message: 'no', data: { [find]: 1 } } }),
  },
  'what it says of its state': { left: 'nothing', state: find => ({ ...ended(CLEAN), statusMessage: find }) },
  'a field beside its state': { left: 'nothing', state: find => ({ ...ended(CLEAN), more: { of: find } }) },
  'a question of the task': {
    left: 'hidden',
    state: find => ({
      status: 'input_required',
      inputRequests: { q: { method: 'elicitation/create', params: { message: find } } },
    }),
  },
};

/** Remembers what is to be hidden at one place. */
export function findAt(canaries: Canaries, place: string, { make }: Format): string {
  const find = make();
  canaries.watch(place, find);
  return find;
}
