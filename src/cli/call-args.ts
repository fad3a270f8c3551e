// Reads the arguments of a call, and the attributes of a session, from the command line. A message about them never quotes
// them.

import { attributesFault } from '../core/flows/attributes.ts';
import { isObject, type JsonObject, parseJson } from '../core/wire/json.ts';
import { usageError } from './exit.ts';
import type { IO } from './io.ts';

/** The value of `--args`: a JSON object, or `-` for standard input. */
export async function readCallArgs(io: IO, text: string): Promise<JsonObject> {
  return objectIn('--args', text === '-' ? await io.stdin.text() : text, '{"title":"Hello"}');
}

/** The value of `--attributes`: a JSON object. */
export function readAttributes(text: string): JsonObject {
  const attributes = objectIn('--attributes', text, '{"customer":"c_17"}');
  const fault = attributesFault(attributes);
  if (fault !== null) throw usageError(`--attributes ${fault}.`);
  return attributes;
}

function objectIn(option: string, text: string, example: string): JsonObject {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw usageError(`${option}: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw usageError(`${option} must be a JSON object, such as ${example}.`);
  return value;
}
