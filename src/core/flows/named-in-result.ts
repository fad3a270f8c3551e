// What the result of a tool names: its texts, those of resources in it, and its structured content.

import { isObject, type Json, type JsonObject } from '../wire/json.ts';
import { namedIn } from './words.ts';

/** In the form in which values are compared. */
export function* namedInResult({ content, structuredContent }: JsonObject): Generator<string> {
  if (structuredContent !== undefined) yield* namedIn(structuredContent);
  for (const text of Array.isArray(content) ? content.flatMap(textsOf) : []) yield* namedIn(text);
}

function textsOf(block: Json): string[] {
  if (!isObject(block)) return [];
  const { resource } = block;
  const all = [block['text'], block['uri'], block['name'], isObject(resource) ? resource['text'] : undefined];
  return all.filter(each => typeof each === 'string');
}
