// What a tool of LangChain returned, and what of it the model gets to see: not the artifact, and of a message that the tool
// made itself, its content. Only that is looked at and reported; an artifact stays only beside content that nothing was
// hidden in, because the two often say the same.

import { InvalidRequest, ToolResultWithheld } from '../errors.ts';
import type { Passage } from '../passing.ts';

interface Message {
  tool_call_id: string;
  content: unknown;
  name?: string;
  id?: string;
  status?: string;
}

/** The result with what may be passed on of it. */
export async function passedOn(result: unknown, isPair: boolean, passage: Passage): Promise<unknown> {
  if (passage.isLookedAt && isOfGraph(result)) throw new ToolResultWithheld({ cause: UNREADABLE });
  const shown = isPair && Array.isArray(result) ? result[0] : result;
  const passed = isMessage(shown) ? await passedMessage(shown, passage) : await passage.passOn(shown);
  if (isSame(passed, shown)) return result;
  return isPair ? [passed, undefined] : passed;
}

async function passedMessage(message: Message, passage: Passage): Promise<Message> {
  const { content, tool_call_id, name, id, status } = message;
  const passed = await passage.passOn(content, { isError: status === 'error' });
  if (isSame(passed, content)) return message;
  const make = message.constructor as new (fields: object) => Message;
  return new make({ content: passed, tool_call_id, name, id, status });
}

const UNREADABLE = new InvalidRequest(
  'The result is a command to the graph, not content.',
  null,
  null,
  'invalid_request',
);

/** A command of LangGraph, alone or in a list: it may change any part of the graph's state. */
function isOfGraph(result: unknown): boolean {
  if (Array.isArray(result)) return result.some(each => isDirect(each));
  return isDirect(result) && !isMessage(result);
}

function isDirect(result: unknown): boolean {
  return (result as { lc_direct_tool_output?: unknown } | null)?.lc_direct_tool_output === true;
}

function isMessage(result: unknown): result is Message {
  return typeof result === 'object' && result !== null && 'tool_call_id' in result;
}

function isSame(passed: unknown, shown: unknown): boolean {
  return passed === shown || JSON.stringify(passed) === JSON.stringify(shown);
}
