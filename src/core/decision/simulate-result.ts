// Tries the `results` of a policy on a result that somebody wrote down: in the cases of `toolgate test`, for `toolgate
// simulate` and in the dashboard's policy editor. It asks the same guard as the service, and stores nothing.

import type { TriedRun } from '../flows/tried-run.ts';
import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import type { ToolCall } from '../policy/situation.ts';
import { atOnce, guardResult, type Outcome, resultsFor } from '../results/results.ts';
import { isObject, type Json, type JsonObject, parseJson, writeJson } from '../wire/json.ts';
import { runOf, type Simulated, situationOf, type Tried } from './simulate.ts';

export interface TriedResult {
  /** What the agent gets. */
  result: JsonObject;
  outcome: Outcome;
  /** Marks that entries of `results` give the run. */
  marks: readonly string[];
}

/** `run` is that of the call, which has the marks that its rule gives. */
export function simulateResult(
  policy: CompiledPolicy,
  call: ToolCall,
  tried: Tried,
  written: Json,
  run: TriedRun,
): TriedResult {
  const result = resultOf(written);
  const guard = resultsFor(policy, call, { ...situationOf(call, tried), run });
  return guard === null ? { result, outcome: UNTOUCHED, marks: [] } : atOnce(guardResult(guard, result));
}

/** The same for a call that is tried by itself: its rule marks the run before the result is there. */
export function broughtBack(
  policy: CompiledPolicy,
  call: ToolCall,
  tried: Tried,
  { brings }: Simulated,
  written: Json,
): TriedResult {
  const run = runOf(tried);
  run.mark(brings.marks);
  return simulateResult(policy, call, tried, written, run);
}

const UNTOUCHED: Outcome = { hidden: {}, withheld: false, cut: false };

/** Names that only MCP results have: those of tools, of resources and of prompts. */
const OF_MCP = ['content', 'structuredContent', 'contents', 'messages'];

/** An MCP result as it is; any other value is the text of one. */
function resultOf(written: Json): JsonObject {
  if (isObject(written) && OF_MCP.some(name => Object.hasOwn(written, name))) return written;
  return { content: [{ type: 'text', text: typeof written === 'string' ? written : writeJson(written) }] };
}

/** What somebody pasted or put into a file: the JSON of an MCP result, or a text. */
export function writtenResult(text: string): Json {
  try {
    const value = parseJson(text);
    return isObject(value) && resultOf(value) === value ? value : text;
  } catch {
    return text;
  }
}

/** A result as people read it: its texts, or its JSON where it has more than these. */
export function shownResult(result: JsonObject): string {
  const { content, isError: _, ...more } = result;
  const texts = Array.isArray(content) ? content.map(plainText) : [null];
  return Object.keys(more).length > 0 || texts.includes(null) ? writeJson(result) : texts.join('\n');
}

/** The text of a block that has nothing else; null for any other block. */
function plainText(block: Json): string | null {
  if (!isObject(block)) return null;
  const { type, text, ...more } = block;
  return type === 'text' && typeof text === 'string' && Object.keys(more).length === 0 ? text : null;
}
