// One message of syslog (RFC 5424), and its frame for TLS (RFC 5425). The caller sends it.

/** The facility "log audit". */
const FACILITY = 13;

export type Severity = 'warning' | 'notice' | 'informational';
const SEVERITIES: Record<Severity, number> = { warning: 4, notice: 5, informational: 6 };

export interface SyslogMessage {
  severity: Severity;
  /** The time as RFC 3339 writes it, with at most six digits of a second. */
  at: string;
  host: string;
  app: string;
  /** The kind of the message. */
  kind: string;
  /** Names of private elements end with `@` and the number of an enterprise. */
  element: string;
  fields: Record<string, string>;
  /** It must not contain a line break, which receivers that write files would take for the end. */
  text: string;
}

const HOST_CHARS = 255;
const NAME_CHARS = 48;
const KIND_CHARS = 32;

export function syslogMessage(message: SyslogMessage): string {
  const { severity, at, app, kind, element, fields, text } = message;
  const priority = FACILITY * 8 + SEVERITIES[severity];
  const data = Object.entries(fields).map(([name, value]) => ` ${name}="${escaped(value)}"`);
  const header = [
    at,
    printable(message.host, HOST_CHARS),
    printable(app, NAME_CHARS),
    '-',
    printable(kind, KIND_CHARS),
  ];
  return `<${priority}>1 ${header.join(' ')} [${element}${data.join('')}] ${text}`;
}

/** The length in bytes stands before each message, so that no byte in it can end it. */
export function framed(message: string): string {
  return `${new TextEncoder().encode(message).length} ${message}`;
}

/** Fields of the header are printable ASCII without spaces; a hyphen stands for nothing. */
function printable(text: string, most: number): string {
  return text.replace(/[^\x21-\x7e]/g, '').slice(0, most) || '-';
}

function escaped(value: string): string {
  return value.replace(/["\\\]]/g, char => `\\${char}`);
}
