// Walks over a result: which texts, names and numbers it has, in a fixed order, and the same result with other texts in
// their places. What a text means follows from where it stands: base64 of an image is not looked at, a resource that is
// sent as base64 is decoded, and words of the protocol itself, such as the type of a block, are left as they are.

import { ExactNumber } from '../wire/exact-number.ts';
import { isObject, type Json, type JsonObject } from '../wire/json.ts';
import { asBase64, blobText, isBase64, textBlob } from './blob.ts';

/** A text of a result, or something else in it that is looked at like one. */
export interface Part {
  readonly text: string;
  /** `text` can be replaced; where something is found in a `fixed` one, the result is withheld. */
  readonly kind: 'text' | 'fixed';
  /** Whether it belongs to what conditions see as `result.text`. */
  readonly spoken: boolean;
}

/** Names of the protocol, outside of what a server is free to shape. They tell nothing. */
const NAMES: ReadonlySet<string> = new Set([
  '_meta',
  'annotations',
  'audience',
  'blob',
  'code',
  'content',
  'contents',
  'data',
  'description',
  'icons',
  'isError',
  'lastModified',
  'level',
  'logger',
  'message',
  'messages',
  'mimeType',
  'name',
  'priority',
  'progress',
  'progressToken',
  'resource',
  'resultType',
  'role',
  'size',
  'sizes',
  'src',
  'structuredContent',
  'text',
  'title',
  'total',
  'type',
  'uri',
]);

/** Words that the protocol has as values. */
const WORDS: Readonly<Record<string, ReadonlySet<string>>> = {
  type: new Set(['text', 'image', 'audio', 'resource', 'resource_link', 'tool_use', 'tool_result']),
  role: new Set(['user', 'assistant']),
  resultType: new Set(['complete']),
  level: new Set(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']),
};

/** What a server is free to shape: no name or word in it belongs to the protocol. */
const FREE: ReadonlySet<string> = new Set(['structuredContent', '_meta']);

/** Each takes work, however short it is: millions of empty texts would hold the service for seconds. */
const MOST_PARTS = 250_000;
const TOO_MANY = Symbol('too many parts');

/** Everything in a result that is looked at, in order; null if that is too much. */
export function partsOf(value: JsonObject): Part[] | null {
  const parts: Part[] = [];
  const take = (part: Part) => {
    if (parts.push(part) > MOST_PARTS) throw TOO_MANY;
    return part.text;
  };
  try {
    rewritten(value, take);
  } catch (error) {
    if (error === TOO_MANY) return null;
    throw error;
  }
  return parts;
}

/** The same result with each part replaced by what is returned for it; the result itself if nothing changes. */
export function rewritten(value: JsonObject, replace: (part: Part) => string): JsonObject {
  return rewriteObject(value, replace, false);
}

type Replace = (part: Part) => string;

function rewrite(value: Json, replace: Replace, free: boolean): Json {
  if (typeof value === 'string') return replace({ text: value, kind: 'text', spoken: false });
  if (typeof value === 'number' || value instanceof ExactNumber) {
    replace({
      text: value instanceof ExactNumber ? value.text : String(value),
      kind: 'fixed',
      spoken: false,
    });
    return value;
  }
  if (Array.isArray(value)) return rewriteList(value, replace, free);
  return isObject(value) ? rewriteObject(value, replace, free) : value;
}

function rewriteList(list: readonly Json[], replace: Replace, free: boolean): Json[] {
  let changed: Json[] | null = null;
  list.forEach((each, at) => {
    const other = rewrite(each, replace, free);
    if (other === each) return;
    changed ??= [...list];
    changed[at] = other;
  });
  return changed ?? (list as Json[]);
}

function rewriteObject(object: JsonObject, replace: Replace, free: boolean): JsonObject {
  const changed: [string, Json][] = [];
  for (const name of Object.keys(object)) {
    const value = object[name] as Json;
    if (free || !NAMES.has(name)) replace({ text: name, kind: 'fixed', spoken: false });
    const other = free ? rewrite(value, replace, true) : rewriteMember(object, name, value, replace);
    if (other !== value) changed.push([name, other]);
  }
  // Names such as `__proto__` are names like any other.
  return changed.length === 0 ? object : Object.fromEntries([...Object.entries(object), ...changed]);
}

function rewriteMember(object: JsonObject, name: string, value: Json, replace: Replace): Json {
  if (typeof value !== 'string') return rewrite(value, replace, FREE.has(name));
  if (Object.hasOwn(WORDS, name) && WORDS[name]?.has(value)) return value;
  if (name === 'text') return replace({ text: value, kind: 'text', spoken: true });
  if (name === 'data' && isMedia(object['type']) && isBase64(value)) return value;
  const base64 = name === 'blob' ? asBase64(value) : null;
  if (base64 !== null) return rewriteBlob(value, base64, object['mimeType'], replace);
  return rewrite(value, replace, false);
}

const isMedia = (type: Json | undefined): boolean => type === 'image' || type === 'audio';

function rewriteBlob(blob: string, base64: string, mimeType: Json | undefined, replace: Replace): string {
  const { text, exact } = blobText(base64);
  if (!exact) {
    const isPicture = typeof mimeType === 'string' && /^(image|audio|video)\//i.test(mimeType);
    // What is no text when it is decoded may be one as it stands.
    if (!isPicture) for (const each of [text, blob]) replace({ text: each, kind: 'fixed', spoken: false });
    return blob;
  }
  const other = replace({ text, kind: 'text', spoken: true });
  return other === text ? blob : textBlob(other);
}
