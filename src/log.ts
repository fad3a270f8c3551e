// JSON log lines. Callers never log anything that may contain a secret or an argument: no bodies, no headers, no query
// strings. The redaction below is only a second line of defence. Tokens in text are masked.

import pino from 'pino';

/** `onLine` gives every line to somebody else too, as it was written. */
export type Log = pino.Logger & { onLine(listener: (line: string) => void): void };
type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

const TOKENS = /\b(tg_(?:key|ses|apr|adm|oat|ort|con)_|whsec_|xox[a-z]-)[0-9A-Za-z+/=_-]+/g;

function maskTokens(text: string): string {
  return text.replace(TOKENS, '$1…');
}

export function createLog(level: LogLevel, write: (line: string) => void): Log {
  const listeners = [write];
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact: [
        '*.authorization',
        '*.cookie',
        '*.token',
        '*.password',
        '*.secret',
        '*.args',
        'args',
        'token',
        'password',
      ],
      serializers: { err: describeError },
    },
    {
      write: line => {
        const masked = maskTokens(line);
        for (const each of listeners) each(masked);
      },
    },
  );
  return Object.assign(log, { onLine: (listener: (line: string) => void) => void listeners.push(listener) });
}

/** The message and the stack of an error. Details of database errors may contain values and are left out. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: 'not an error object' };
  const { name, message, stack, cause } = error;
  const code = (error as { code?: unknown }).code;
  return {
    name,
    message,
    ...(typeof code === 'string' ? { code } : {}),
    stack: stack?.split('\n').slice(1, 8).join('\n'),
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}
