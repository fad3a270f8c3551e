// From what a tool returned or threw to what its caller may have: looked at by the service where the policy wants it, and
// then reported where the tool is trusted. On the way there it is an MCP result: a text is a block of text, and whatever
// else JSON can hold is structured content.

import type { CallOptions, Toolgate } from './client.ts';
import { BadAnswer, InvalidRequest, ToolResultWithheld } from './errors.ts';
import { wholeOf } from './plain.ts';
import { isLookedAt, type WithheldResult } from './results.ts';
import type { AllowVerdict } from './verdict.ts';

/** The way of one call's outcome to whoever asked for it. */
export interface Passage {
  /** Whether the policy has a say about what comes: then nothing of it may leave before it is whole. */
  isLookedAt: boolean;
  /**
   * What may be passed on of what the tool returned: the same value, where the policy has no say about it. Throws
   * ToolResultWithheld if nothing may, and the client's own error if nobody could look at it.
   */
  passOn: (result: unknown, about?: About) => Promise<unknown>;
  /** The error to throw for one that the tool threw: that itself, or another one with what may be passed on of its text. */
  passError: (error: unknown) => Promise<unknown>;
}

export interface About {
  /** That it says what went wrong: it is looked at as an error, and not reported, since errors repeat arguments. */
  isError?: boolean;
  /** That it must not be reported for another reason. */
  isUntold?: boolean;
}

export function passageOf(gate: Toolgate, verdict: AllowVerdict, options: CallOptions): Passage {
  const isWanted = isLookedAt(verdict);
  const passOn = async (result: unknown, { isError = false, isUntold = false }: About = {}) => {
    const passed = isWanted ? await lookedAt(gate, verdict, result, isError, options) : result;
    if (!isError && !isUntold) await gate.report(verdict, passed, options);
    return passed;
  };
  const passError = async (error: unknown) => {
    if (!isWanted) return error;
    const said = textOf(error);
    const passed = await passOn(said, { isError: true });
    return passed === said ? error : new ToolResultWithheld(String(passed));
  };
  return { isLookedAt: isWanted, passOn, passError };
}

/** Runs a tool, and passes on what comes of it. */
export async function passing<R>(passage: Passage, run: () => R): Promise<Awaited<R>> {
  return (await passage.passOn(await running(passage, run))) as Awaited<R>;
}

/** Runs a tool; what it throws is passed on. */
export async function running<R>(
  { passError }: Pick<Passage, 'passError'>,
  run: () => R,
): Promise<Awaited<R>> {
  try {
    return await run();
  } catch (error) {
    throw await passError(error);
  }
}

interface SentResult {
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: true;
}
type Guarded = SentResult | WithheldResult;

async function lookedAt(
  gate: Toolgate,
  verdict: AllowVerdict,
  result: unknown,
  isError: boolean,
  options: CallOptions,
): Promise<unknown> {
  const plain = whole(result);
  const sent = resultOf(plain);
  const guarded = await gate.guardResult<SentResult>(verdict, isError ? { ...sent, isError } : sent, options);
  if (isWithheld(sent, guarded, isError)) throw new ToolResultWithheld(textIn(guarded));
  return valueIn(guarded, plain);
}

/** Of an error that is a text, its reason takes the place of the text. */
function isWithheld(sent: SentResult, guarded: Guarded, isError: boolean): boolean {
  const isReplaced = sent.structuredContent !== undefined && !Object.hasOwn(guarded, 'structuredContent');
  return guarded.isError === true && (!isError || isReplaced);
}

/** Also a text: what is thrown here quotes nothing of the result. */
function whole(result: unknown): unknown {
  try {
    return wholeOf(result);
  } catch {
    throw new InvalidRequest('The result cannot be written as JSON.', null, null, 'invalid_request');
  }
}

function resultOf(plain: unknown): SentResult {
  if (plain === undefined || plain === null) return { content: [] };
  if (typeof plain === 'string') return { content: [{ type: 'text', text: plain }] };
  // Structured content is an object: whatever else stands in one.
  return { content: [], structuredContent: isObject(plain) ? plain : { result: plain } };
}

/** The value that the guarded result stands for, of the same kind as the one that was sent. */
function valueIn(guarded: Guarded, plain: unknown): unknown {
  if (plain === undefined || plain === null) return plain;
  if (typeof plain === 'string') return textIn(guarded);
  const { structuredContent } = guarded as SentResult;
  if (!isObject(structuredContent)) throw unlikePromised('"structuredContent" is not an object');
  if (isObject(plain)) return structuredContent;
  if (!Object.hasOwn(structuredContent, 'result')) throw unlikePromised('"result" is missing');
  return structuredContent['result'];
}

function textIn({ content }: Guarded): string {
  const texts = content.map(each => (each?.type === 'text' ? each.text : undefined));
  if (texts.length > 0 && texts.every(each => typeof each === 'string')) return texts.join('\n');
  throw unlikePromised('"content" is not text');
}

function textOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unlikePromised(what: string): BadAnswer {
  return new BadAnswer(200, `The answer has another shape than promised: ${what}.`);
}
