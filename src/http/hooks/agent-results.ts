// The result that a coding agent tells, as an MCP result, and what is left of it back in the shape that the agent had. Each
// agent's own tools have results of their own shape, in which every text is looked at, and names and numbers too.

import { isObject, type Json, type JsonObject } from '../../core/wire/json.ts';
import type { Replacement } from './agent.ts';

export interface Shape {
  result: JsonObject;
  /** What to say in its place. `isWithheld`: the other one only says why. */
  replacement: (passed: JsonObject, isWithheld: boolean) => Replacement;
}

/** `value` is undefined if the result is not there in full. */
export function shapeOf(value: Json | undefined, failed: boolean): Shape {
  const isError = failed && { isError: true };
  if (value === undefined) return ofContent({ content: [], ...isError }, () => null);
  if (typeof value === 'string')
    return ofContent({ content: [block(value)], ...isError }, result => textsOf(result).join('\n'));
  if (isContent(value)) return ofContent({ content: value, ...isError }, ({ content = [] }) => content);
  if (isObject(value) && isContent(value['content'])) return ofContent({ ...value, ...isError }, all => all);
  return ofOwnShape(value, failed);
}

function ofContent(result: JsonObject, left: (passed: JsonObject) => Json): Shape {
  return { result, replacement: passed => ({ value: left(passed), text: textsOf(passed).join('\n') }) };
}

/**
 * Every text becomes a block, so that conditions see them as texts. The rest goes along where only names and numbers of it are
 * left; `structuredContent` is not there, so that a condition that reads it fails.
 */
function ofOwnShape(value: Json, failed: boolean): Shape {
  const texts: string[] = [];
  const rest = withTexts(value, text => {
    texts.push(text);
    return '';
  });
  return {
    result: { content: texts.map(block), _meta: { [REST]: rest }, ...(failed && { isError: true }) },
    replacement: (passed, isWithheld) => {
      const left = textsOf(passed);
      const text = left.join('\n');
      if (isWithheld) return { value: emptied(value, text), text };
      return { value: withTexts(value, () => left.shift() ?? ''), text };
    },
  };
}

const REST = 'toolgate/rest';

const block = (text: string): JsonObject => ({ type: 'text', text });

const isContent = (value: Json | undefined): value is JsonObject[] =>
  Array.isArray(value) && value.length > 0 && value.every(each => isObject(each) && isBlock(each));

/** Gemini CLI leaves the type out. */
const isBlock = ({ type, text }: JsonObject): boolean => typeof type === 'string' || typeof text === 'string';

function textsOf({ content }: JsonObject): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap(each => (isObject(each) && typeof each['text'] === 'string' ? [each['text']] : []));
}

/** The same with other texts, in the order in which they stand. */
function withTexts(value: Json, replace: (text: string) => string): Json {
  if (typeof value === 'string') return replace(value);
  if (Array.isArray(value)) return value.map(each => withTexts(each, replace));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withTexts(each, replace)]));
}

/** The shape of the result without what it said: its first text is the reason, and lists and numbers are empty. */
function emptied(value: Json, reason: string): Json {
  let left = reason;
  const empty = (each: Json): Json => {
    if (typeof each === 'string') {
      const text = left;
      left = '';
      return text;
    }
    if (Array.isArray(each)) return [];
    if (isObject(each))
      return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, empty(inner)]));
    return typeof each === 'boolean' || each === null ? each : 0;
  };
  return empty(value);
}
