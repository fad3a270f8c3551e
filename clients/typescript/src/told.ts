// What the service is told besides calls: the person's words, and what trusted tools returned. A result is bounded here;
// what a person said is sent as it is.

import { plainOf } from './plain.ts';
import type { AllowVerdict } from './verdict.ts';

/** What the service takes, in bytes of UTF-8. */
const LIMIT = 64 * 1024;
/** Between these is a word, whoever reads the text. */
const BLANKS = [' ', '\n', '\t', '\r'];
/** How a text begins that the service reads as JSON. */
const BEGINS_JSON = /^[ \t\r\n]*(?:\{[ \t\r\n]*["}]|\[[ \t\r\n]*["[\]{0-9tfn-])/;

export type Telling = { text: string } | { structured: object };

/** Whether the rule that allowed the call trusts what the tool returns. */
export function wantsResult({ known }: AllowVerdict): boolean {
  return known === 'results';
}

/** A result as it is reported; null if nothing in it could become known, or if it is too large. */
export function tellingOf(result: unknown): Telling | null {
  const plain = plainOf(result);
  switch (typeof plain) {
    case 'string':
      return textOf(cut(plain));
    case 'number':
      return textOf(String(plain));
    case 'object':
      return plain === null ? null : structuredOf(plain);
    default:
      return null;
  }
}

function textOf(text: string): Telling | null {
  return text.trim() === '' ? null : { text };
}

function structuredOf(plain: object): Telling | null {
  const isEmpty = Object.keys(plain).length === 0;
  return isEmpty || isFailure(plain) || bytesOf(plain) > LIMIT ? null : { structured: plain };
}

/** An error often repeats the arguments of the call, which a stranger may have named: MCP's, Mastra's, `{ error: … }`. */
function isFailure(plain: object): boolean {
  const { error, isError } = plain as { error?: unknown; isError?: unknown };
  return Boolean(error) || Boolean(isError);
}

function bytesOf(plain: object): number {
  return new TextEncoder().encode(JSON.stringify(plain)).length;
}

/**
 * The beginning that fits, up to a blank: half a word would be a value that nobody has named. Of JSON nothing: half of it
 * would be read as words, its keys included.
 */
function cut(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(LIMIT));
  if (read === text.length) return text;
  if (BEGINS_JSON.test(text)) return '';
  const end = Math.max(...BLANKS.map(blank => text.lastIndexOf(blank, read)));
  return text.slice(0, Math.max(end, 0));
}
