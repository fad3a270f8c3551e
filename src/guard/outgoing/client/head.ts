// Reads the head of an answer: its status, its headers, and how its body ends. It is strict, because a head that two
// programs read differently is how one answer is taken for another: what RFC 9112 leaves to a lenient reader is refused.

/** The server broke the rules of HTTP. The connection is of no more use. */
export class BadAnswer extends Error {}

/** A body of so many bytes, a body in chunks, or all that comes until the server closes the connection. */
type Framing = number | 'chunked' | 'until closed';

export interface Head {
  status: number;
  /** By the name in lower case. A header that was sent twice has both values, separated by a comma. */
  headers: ReadonlyMap<string, string>;
  framing: Framing;
  /** For how long after the body the connection may be used again; 0: not at all. */
  keptMs: number;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;
const MAX_HEADERS = 200;

/**
 * A request that is sent while the server closes an idle connection fails, and nobody knows whether it ran. So we stop
 * using a connection before the server closes it. Many servers close after 5 s and do not say so.
 */
const KEPT_MS = 4000;
/** What is kept at most, whatever the server says. */
const MAX_KEPT_MS = 60_000;
/** A request that is on its way for this long still arrives in the time that the server said. */
const ON_ITS_WAY_MS = 1000;

/** Reads the text of a head, without the empty line that ends it. */
export function readHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const status = STATUS_LINE.exec(first);
  if (status === null) throw new BadAnswer('the status line cannot be read');
  if (lines.length > MAX_HEADERS) throw new BadAnswer('there are too many headers');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const header = HEADER_LINE.exec(line);
    if (header === null) throw new BadAnswer('a header cannot be read');
    const name = (header[1] as string).toLowerCase();
    const value = (header[2] as string).trimEnd();
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  const code = Number(status[2]);
  const framing = framingOf(code, status[1] === '1', headers);
  const closes = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(headers.get('connection') ?? '');
  const persists = status[1] === '1' && framing !== 'until closed' && !closes && !isAmbiguous(headers);
  return { status: code, headers, framing, keptMs: persists ? keptMs(headers.get('keep-alive')) : 0 };
}

/** Reads the header Keep-Alive: `timeout=5, max=100`. */
function keptMs(said: string | undefined): number {
  if (said === undefined) return KEPT_MS;
  const seconds = /(?:^|,)[ \t]*timeout[ \t]*=[ \t]*"?([0-9]{1,9})/i.exec(said)?.[1];
  if (seconds === undefined) return KEPT_MS;
  return Math.max(0, Math.min(Number(seconds) * 1000 - ON_ITS_WAY_MS, MAX_KEPT_MS));
}

function framingOf(status: number, isNew: boolean, headers: ReadonlyMap<string, string>): Framing {
  const encoding = headers.get('transfer-encoding');
  const length = headers.get('content-length');
  if (encoding !== undefined && (!isNew || encoding.toLowerCase() !== 'chunked'))
    throw new BadAnswer('the transfer encoding is unknown');
  // A length that was sent twice has a comma, and is refused.
  if (length !== undefined && !/^[0-9]{1,15}$/.test(length)) throw new BadAnswer('the length is no number');
  if (status < 200 || status === 204 || status === 304) return 0;
  if (encoding !== undefined) return 'chunked';
  return length === undefined ? 'until closed' : Number(length);
}

/** The transfer encoding counts if there is a length too. But it is not certain where such an answer ends. */
function isAmbiguous(headers: ReadonlyMap<string, string>): boolean {
  return headers.has('transfer-encoding') && headers.has('content-length');
}
