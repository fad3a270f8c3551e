// Reads the arguments of a call from the command line. A message about them never quotes them.

import { isObject, type Json, type JsonObject, parseJson } from '../core/wire/json.ts';
import { usageError } from './exit.ts';
import type { IO } from './io.ts';

/** The value of `--args`: a JSON object, or `-` for standard input. */
export async function readCallArgs(io: IO, text: string): Promise<JsonObject> {
  let value: Json;
  try {
    value = parseJson(text === '-' ? await io.stdin.text() : text);
  } catch (error) {
    throw usageError(`--args: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw usageError('--args must be a JSON object, such as {"title":"Hello"}.');
  return value;
}
