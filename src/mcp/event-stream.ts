// Reads the server-sent events of an upstream, within bounds. ../event-writer.ts writes such events to a client.

import { Turns } from './turns.ts';
import { UpstreamError } from './wire.ts';

interface ServerEvent {
  event: string;
  data: string;
}

/**
 * Yields the events of a stream, one by one. An event larger than `maxBytes` ends the reading with an error. Each
 * character is looked at once, however the upstream cuts its chunks: before, one line of 16 MB delayed every other
 * call.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let lines: string[] = [];
  let pieces: string[] = [];
  let size = 0;
  let returned = false;
  const turns = new Turns();
  for await (const chunk of body) {
    const decoded = decoder.decode(chunk, { stream: true });
    if (decoded === '') continue;
    // The previous chunk ended between the CR and the LF of a line's end.
    const text: string = returned && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
    returned = text.endsWith('\r');
    size += chunk.length;
    if (size > maxBytes) throw new UpstreamError('the upstream sent an event that is too large');
    let from = 0;
    let ended = false;
    for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/g)) {
      const line = pieces.join('') + text.slice(from, index);
      from = index + end.length;
      pieces = [];
      // Blank lines and comments count too: a flood of them makes no event, and delayed every other call for seconds.
      const othersTurn = turns.took(line.length);
      if (othersTurn !== null) await othersTurn;
      if (line !== '') {
        lines.push(line);
        continue;
      }
      const found = readEvent(lines);
      lines = [];
      ended = true;
      if (found !== null) yield found;
    }
    pieces.push(text.slice(from));
    if (ended) size = Buffer.byteLength(text.slice(from));
  }
}

function readEvent(lines: readonly string[]): ServerEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of lines) {
    if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
    else if (line.startsWith('event:')) event = line.slice(6).trim();
  }
  // Some servers begin with an event without data, only to give it an id.
  const text = data.join('\n');
  return text === '' ? null : { event, data: text };
}
