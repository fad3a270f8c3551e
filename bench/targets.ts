// The targets: how many times the CPU time of another line a line may take, or how large a finding of a study may be.
// A figure whose rounds lie on both sides of its target neither reaches nor misses it.

import type { Figure } from './figure.ts';
import { type Instructions, instructionsOf } from './instructions.ts';

type Target = {
  label: string;
  atMost: number;
} /** `adds`: the line does what the other one does, and something more, so that it cannot take less. */ & (
  | { of: string; against: string; adds?: true }
  | { finding: string; unit: string }
);

export interface Verdict {
  label: string;
  atMost: number;
  unit: string;
  /** Null when it was not measured in this run. */
  measured: Figure | null;
  /** The same ratio including the CPU time of PostgreSQL; null if there is none. */
  withDatabase: Figure | null;
  /** Of a line that was counted; null for all others. */
  instructions: Instructions | null;
  word: 'reached' | 'missed' | 'unclear' | 'not measured';
}

export const TARGETS: Target[] = [
  { label: 'check on sqlite, durable, against echo', of: 'sqlite', against: 'echo', atMost: 1.8 },
  { label: 'check on postgres, durable, against echo', of: 'postgres', against: 'echo', atMost: 2 },
  { label: 'check on postgres, of PostgreSQL itself', finding: 'postgres', unit: 'µs', atMost: 12 },
  {
    label: 'a lone check on sqlite, beyond an echo and an fsync',
    finding: 'lone-added',
    unit: 'ms',
    atMost: 0.15,
  },
  {
    label: 'p99 of 2,000 checks a second on sqlite, beyond that of an fsync',
    finding: 'p99-added',
    unit: 'ms',
    atMost: 3,
  },
  ...['sqlite', 'postgres'].flatMap(engine =>
    [
      ['rules', '10,000 rules against 10'],
      ['stars', '10,000 rules like a*b against 10'],
      ['entries', '1,000,000 entries against none'],
      ['10m-entries', '10,000,000 entries against none'],
    ].map(([name, what]) => ({
      label: `${what}, ${engine}`,
      of: `${engine}-${name}`,
      against: engine,
      adds: true as const,
      atMost: 1.1,
    })),
  ),
  ...['sqlite', 'postgres'].flatMap(engine =>
    [
      ['3 conditions against none', 'conditions', '', 1.15] as const,
      ['a shadow with 3 conditions against none', 'shadow', '', 1.2] as const,
      ['10,000 rules with conditions against 10', 'many-conditions', '-conditions', 1.1] as const,
      ['a limit for each key against none', 'limits', '-keys', 1.3] as const,
      ['one limit for all keys against none', 'shared-limit', '-keys', 2] as const,
    ].map(([what, name, against, atMost]) => ({
      label: `${what}, ${engine}`,
      of: `${engine}-${name}`,
      against: `${engine}${against}`,
      adds: true as const,
      atMost,
    })),
  ),
  ...[
    { engine: 'sqlite', atMost: 1.2 },
    { engine: 'postgres', atMost: 1.3 },
  ].map(({ engine, atMost }) => ({
    label: `a check by the marks of its run against one without, ${engine}`,
    of: `${engine}-marks`,
    against: engine,
    adds: true as const,
    atMost,
  })),
  ...['sqlite', 'postgres'].map(engine => ({
    label: `3 known values beside marks against marks alone, ${engine}`,
    of: `${engine}-known`,
    against: `${engine}-marks`,
    adds: true as const,
    atMost: 1.1,
  })),
  {
    label: '1 % of the checks traced against none, sqlite',
    of: 'sqlite-traced',
    against: 'sqlite',
    adds: true,
    atMost: 1.05,
  },
  {
    label: 'wait of checks without limits beside a shared limit, against beside none',
    finding: 'beside',
    unit: '×',
    atMost: 1.1,
  },
  ...['sqlite', 'postgres'].map(engine => ({
    label: `check on ${engine}, durable, against cedar-wasm without audit`,
    of: engine,
    against: 'cedar',
    atMost: 1,
  })),
  ...[
    { peer: 'opa', what: 'OPA with its console log', times: 8 },
    { peer: 'cerbos', what: 'Cerbos with a file log', times: 15 },
    { peer: 'faramesh', what: 'Faramesh with its synced log', times: 20 },
  ].map(({ peer, what, times }) => ({
    label: `check on sqlite, durable, against ${what}: ${times} times cheaper`,
    of: 'sqlite',
    against: peer,
    atMost: 1 / times,
  })),
  { label: 'forwarded call against a bare forwarder', of: 'mcp', against: 'mcp-floor', atMost: 2 },
  {
    label: 'a forwarded call with 4 KB back, results of other tools guarded, against none',
    of: 'mcp-4k-others',
    against: 'mcp-4k',
    adds: true,
    atMost: 1.05,
  },
  {
    label: 'a forwarded call with 4 KB back, secrets hidden in them, against none',
    of: 'mcp-4k-hide',
    against: 'mcp-4k',
    adds: true,
    atMost: 1.5,
  },
  ...['mcp-proxy', 'supergateway'].map(peer => ({
    label: `forwarded call against ${peer}, the stdio server counted with both`,
    of: 'mcp-stdio',
    against: peer,
    atMost: 1 / 4,
  })),
  ...[
    { label: 'a decision of 50 that AuthZEN asks for at once, sqlite', finding: 'authzen-batch' },
    { label: 'a decision of 50 in a batch of MCP calls, sqlite', finding: 'mcp-batch' },
  ].map(target => ({ ...target, unit: 'µs', atMost: 6 })),
  { label: 'memory at rest', finding: 'rest', unit: 'MB', atMost: 80 },
  {
    label: 'memory after a million checks with every feature on',
    finding: 'million',
    unit: 'MB',
    atMost: 140,
  },
  { label: 'start to ready with an existing store', finding: 'start', unit: 'ms', atMost: 250 },
];

export function verdictOn(
  target: Target,
  ratio: (of: string, against: string) => Figure | null,
  ratioWithDatabase: (of: string, against: string) => Figure | null,
  finding: (name: string) => Figure | null,
): Verdict {
  const measured = 'of' in target ? ratio(target.of, target.against) : finding(target.finding);
  return {
    label: target.label,
    atMost: target.atMost,
    unit: 'of' in target ? '×' : target.unit,
    measured,
    withDatabase: 'of' in target ? ratioWithDatabase(target.of, target.against) : null,
    instructions: 'of' in target ? instructionsOf(target.of, target.against) : null,
    word: wordFor(target, measured),
  };
}

function wordFor(target: Target, measured: Figure | null): Verdict['word'] {
  if (measured === null) return 'not measured';
  if ('adds' in target && isBelowOne(measured)) return 'unclear';
  if (measured.min <= target.atMost && target.atMost < measured.max) return 'unclear';
  return measured.median <= target.atMost ? 'reached' : 'missed';
}

/** With the digits that are shown. */
export function isBelowOne({ median }: Figure): boolean {
  return Number(median.toFixed(2)) < 1;
}
