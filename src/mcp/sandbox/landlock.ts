// Restricts this thread, and what it will start, with Landlock: files, TCP, abstract sockets and signals. What a rule
// leads to is what the kernel finds under its path, symbolic links followed.

import { fstatSync } from 'node:fs';
import { addressOf, cString, errno, libc, systemCall } from './libc.ts';
import type { Plan } from './plan.ts';

const CREATE_RULESET = 444;
const ADD_RULE = 445;
const RESTRICT_SELF = 446;
const ASK_VERSION = 1;
const PATH_BENEATH = 1;
const O_PATH_CLOEXEC = 0x280000;

const EXECUTE = 1n << 0n;
const WRITE_FILE = 1n << 1n;
const READ_FILE = 1n << 2n;
const READ_DIR = 1n << 3n;
const MAKE_DEVICES = (1n << 6n) | (1n << 11n);
/** Removes and makes files, directories, sockets, pipes and symbolic links. */
const CHANGE_DIR = (1n << 4n) | (1n << 5n) | (1n << 7n) | (1n << 8n) | (1n << 9n) | (1n << 10n) | (1n << 12n);
/** Moves and links files between directories. */
const REFER = 1n << 13n;
const TRUNCATE = 1n << 14n;
const IOCTL_DEV = 1n << 15n;
const ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

const BIND_AND_CONNECT_TCP = 3n;
const ABSTRACT_SOCKETS = 1n;
const SIGNALS = 2n;

/** The version of Landlock's interface, or the negative number of the error. */
export function landlockVersion(): number {
  return systemCall(CREATE_RULESET, 0, 0, ASK_VERSION);
}

export class CannotConfine extends Error {}

export function restrictFilesAndMore(plan: Pick<Plan, 'read' | 'write' | 'network' | 'landlock'>): void {
  const version = plan.landlock;
  const reads = plan.read === null ? 0n : EXECUTE | READ_FILE | READ_DIR;
  const truncates = version >= 3 ? TRUNCATE : 0n;
  const writes =
    plan.write === null ? 0n : WRITE_FILE | CHANGE_DIR | truncates | (version >= 5 ? IOCTL_DEV : 0n);
  const refers = version >= 2 ? REFER : 0n;
  // Devices are never made. So there always is something to restrict, and a process that is restricted at all can
  // neither trace others nor read their memory.
  const ruleset = newRuleset(version, reads | writes | refers | MAKE_DEVICES, plan.network);
  for (const path of plan.read ?? []) allow(ruleset, path, reads);
  for (const path of plan.write ?? ['/'])
    allow(ruleset, path, plan.write === null ? refers : refers | reads | writes);
  check(systemCall(RESTRICT_SELF, ruleset, 0), 'Landlock could not be turned on');
  libc.close(ruleset);
}

function newRuleset(version: number, files: bigint, network: boolean): number {
  const noTcp = !network && version >= 4 ? BIND_AND_CONNECT_TCP : 0n;
  const scopes = version >= 6 ? SIGNALS | (network ? 0n : ABSTRACT_SOCKETS) : 0n;
  const attributes = new BigUint64Array([files, noTcp, scopes]);
  const bytes = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const ruleset = systemCall(CREATE_RULESET, addressOf(attributes), bytes, 0);
  return check(ruleset, 'Landlock refused the rules');
}

function allow(ruleset: number, path: string, rights: bigint): void {
  const descriptor = libc.open(cString(path), O_PATH_CLOEXEC, 0);
  if (descriptor < 0) throw new CannotConfine(`${path} cannot be opened (error ${errno()})`);
  const allowed = fstatSync(descriptor).isDirectory() ? rights : rights & ON_FILES;
  if (allowed !== 0n) {
    const rule = new DataView(new ArrayBuffer(12));
    rule.setBigUint64(0, allowed, true);
    rule.setInt32(8, descriptor, true);
    const bytes = new Uint8Array(rule.buffer);
    check(
      systemCall(ADD_RULE, ruleset, PATH_BENEATH, addressOf(bytes), 0),
      `no rule can be made for ${path}`,
    );
  }
  libc.close(descriptor);
}

function check(result: number, what: string): number {
  if (result < 0) throw new CannotConfine(`${what} (error ${-result})`);
  return result;
}
