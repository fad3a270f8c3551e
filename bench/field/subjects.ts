// The lines of the field: what others spend on the same question and on the same forwarded call, and what they record of
// it. programs.ts says where their programs come from; lines whose program is not there are left out.

import type { Place } from '../service.ts';
import type { Running, Subject } from '../subjects.ts';
import { openCerbos } from './cerbos.ts';
import { openContextForge } from './contextforge.ts';
import { openFaramesh, openFarameshMcp } from './faramesh.ts';
import { openOpa } from './opa.ts';
import { isThere, type ProgramName, titleOf } from './programs.ts';

/** A program of others, and how a line of it is opened. */
export interface Peer {
  program: ProgramName;
  open(subject: Subject, place: Place): Promise<Running>;
}

function peer(
  program: ProgramName,
  name: string,
  label: string,
  audits: string,
  open: Peer['open'],
  more: Partial<Subject> = {},
): Subject {
  return { name, label, kind: 'peer', audits, peer: { program, open }, ...more };
}

export const FIELD_CHECKS: Subject[] = [
  peer(
    'opa',
    'opa',
    `${titleOf('opa')}, console decision log`,
    'one line of JSON with the arguments, on standard error before the answer, not synced',
    (subject, place) => openOpa(subject, true, place),
  ),
  peer('opa', 'opa-no-log', `${titleOf('opa')}, no decision log`, 'nothing', (subject, place) =>
    openOpa(subject, false, place),
  ),
  peer(
    'cerbos',
    'cerbos',
    `${titleOf('cerbos')}, file decision log`,
    'one line of JSON with the arguments, in a file beside the answer, not synced',
    (subject, place) => openCerbos(subject, true, place),
  ),
  peer('cerbos', 'cerbos-no-log', `${titleOf('cerbos')}, no decision log`, 'nothing', (subject, place) =>
    openCerbos(subject, false, place),
  ),
  peer(
    'faramesh',
    'faramesh',
    `${titleOf('faramesh')}, write-ahead log`,
    'one record with the arguments, synced to disk before the answer',
    openFaramesh,
  ),
];

export const FIELD_CALLS: Subject[] = [
  peer(
    'contextforge',
    'contextforge',
    `tools/call, ${titleOf('contextforge')} (HTTP upstream)`,
    'one row with the duration, kept in memory and written every minute or 1,000 calls',
    openContextForge,
    { road: 'peer' },
  ),
  peer(
    'faramesh',
    'faramesh-mcp',
    `tools/call, ${titleOf('faramesh')} (HTTP upstream)`,
    'one record with the arguments, synced to disk before the call is forwarded',
    openFarameshMcp,
    { road: 'peer' },
  ),
];

/** The lines that can be measured here; tells of each program that is not there, once. */
export function present(subjects: Subject[], tell: (text: string) => void): Subject[] {
  const missing = subjects.flatMap(({ peer }) => (peer && !isThere(peer.program) ? [peer.program] : []));
  for (const program of new Set(missing))
    tell(`field: ${titleOf(program)} is not there: npm run bench:field fetches it, or says where it belongs`);
  return subjects.filter(({ peer }) => !peer || isThere(peer.program));
}
