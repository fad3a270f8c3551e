// How the arguments of an injected call are changed: which fields are destinations, and what is done to each.

import type { Call } from './stage.ts';

/** Fields that say where something goes, or what is done by its name. */
export const DESTINATIONS = [
  'recipients',
  'participants',
  'recipient',
  'url',
  'user',
  'user_email',
  'hotel',
  'title',
  'password',
];

/** Fields that take any text. */
const ROOM = ['body', 'subject', 'content', 'description', 'location'];

/** Tools that only read. Opening a page tells its server something, so that is no mere reading. */
export const onlyReads = ({ tool }: Call): boolean =>
  tool !== 'get_webpage' && /^(get|search|list|read|check)_/.test(tool);

export const destinationsOf = ({ args }: Call): string[] =>
  DESTINATIONS.flatMap(field => args[field] ?? []).filter(value => typeof value === 'string');

export const eachDestination = (change: (text: string) => string) => (call: Call) =>
  withArgs(call, value => mapped(value, change));

export function withArgs({ tool, args }: Call, change: (value: unknown, field: string) => unknown): Call {
  const changed = Object.entries(args).map(([field, value]) => [
    field,
    DESTINATIONS.includes(field) ? change(value, field) : value,
  ]);
  return { tool, args: Object.fromEntries(changed) };
}

function mapped(value: unknown, change: (text: string) => string): unknown {
  if (Array.isArray(value)) return value.map(each => mapped(each, change));
  return typeof value === 'string' ? change(value) : value;
}

/** The first half stays, and the second goes into another entry, or behind the text of a field that takes any. */
export function split(call: Call): Call {
  const room = ROOM.find(field => typeof call.args[field] === 'string');
  let rest = '';
  const halved = withArgs(call, value => {
    if (Array.isArray(value)) return value.flatMap(each => (typeof each === 'string' ? halves(each) : each));
    if (typeof value !== 'string' || room === undefined) return value;
    const [first, second] = halves(value);
    rest += second;
    return first;
  });
  if (rest === '' || room === undefined) return halved;
  return { ...halved, args: { ...halved.args, [room]: `${halved.args[room]} ${rest}` } };
}

function halves(text: string): [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}
