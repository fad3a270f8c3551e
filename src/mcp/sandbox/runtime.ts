// What `runtime` in sandbox.read stands for: what programs of Node, Bun and Python have to read to run at all, as
// docs/confined.md lists it. Paths that are not there are left out.

import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { realOf } from './changeable.ts';

/** What every program may need: libraries, certificates, names of hosts and users, time zones, chance. No secrets. */
const SHARED = [
  '/lib',
  '/lib32',
  '/lib64',
  '/usr/lib',
  '/usr/lib32',
  '/usr/lib64',
  '/usr/local/lib',
  '/etc/ld.so.cache',
  '/etc/ssl',
  '/etc/pki/tls',
  '/etc/pki/ca-trust',
  '/etc/ca-certificates',
  '/usr/share/ca-certificates',
  '/etc/resolv.conf',
  '/etc/hosts',
  '/etc/host.conf',
  '/etc/nsswitch.conf',
  '/etc/gai.conf',
  '/etc/services',
  '/etc/protocols',
  '/etc/passwd',
  '/etc/group',
  '/etc/localtime',
  '/etc/timezone',
  '/usr/share/zoneinfo',
  '/usr/share/locale',
  '/dev/zero',
  '/dev/random',
  '/dev/urandom',
  '/proc/self',
  '/proc/cpuinfo',
  '/proc/meminfo',
  '/proc/stat',
  '/proc/version',
  '/proc/sys/kernel/random',
  '/proc/sys/vm/overcommit_memory',
  '/sys/devices/system/cpu',
];

/** Package runners start what they fetched through these. */
const RUNNERS = /^(npx|npm|uvx|uv|bunx|pnpm|yarn)$/;
const FOR_RUNNERS = ['/bin/sh', '/usr/bin/env'];
/** What Debian keeps of Node apart from Node. */
const NODE_SHARED = ['/usr/share/nodejs', '/usr/share/npm', '/usr/share/node_modules'];
const MOST_INTERPRETERS = 4;
/** What the kernel reads of a script's first line. */
const LONGEST_LINE = 256;

/**
 * `program` is the path of the command; `path` is where it looks for others. What is not fixed, because the command may
 * change it, grants nothing.
 */
export function runtimePaths(
  program: string,
  path: string,
  isFixed: (file: string) => boolean = () => true,
): string[] {
  const programs = interpreters(program, path, isFixed);
  const isRunner = RUNNERS.test(basename(program));
  const paths = [...SHARED, ...programs.flatMap(homeOf), ...(isRunner ? FOR_RUNNERS : [])];
  return [...new Set(paths)].filter(existsSync);
}

/** The program, and what the first line of a script names. */
function interpreters(program: string, path: string, isFixed: (file: string) => boolean): string[] {
  const found = [program];
  for (let script: string | null = program; script !== null && found.length < MOST_INTERPRETERS; ) {
    const words: string[] = firstLine(script)?.slice(2).trim().split(/\s+/) ?? [];
    const [interpreter, argument] = words;
    if (interpreter === undefined || interpreter === '' || !isFixed(interpreter)) break;
    found.push(interpreter);
    script = interpreter;
    if (basename(interpreter) !== 'env') continue;
    const named = words.slice(1).find(word => !word.startsWith('-') && !word.includes('=')) ?? argument;
    script = Bun.which(named ?? '', { PATH: path });
    if (script !== null && !isFixed(script)) break;
    if (script !== null) found.push(script);
  }
  return found;
}

/** Null for what is not a script. */
function firstLine(file: string): string | null {
  try {
    const descriptor = openSync(file, 'r');
    const start = Buffer.alloc(LONGEST_LINE);
    const bytes = readSync(descriptor, start);
    closeSync(descriptor);
    const text = start.toString('latin1', 0, bytes);
    return text.startsWith('#!') ? (text.split('\n')[0] as string) : null;
  } catch {
    return null;
  }
}

/** The program itself, and the folders of its installation. */
function homeOf(program: string): string[] {
  const real = realOf(program);
  const paths = [program, real];
  const name = basename(real);
  const prefix = dirname(dirname(real));
  if (/^node(js)?$/.test(name)) paths.push(join(prefix, 'lib/node_modules'), ...NODE_SHARED);
  if (/^(npx|npm)(-cli\.js)?$/.test(name)) paths.push(dirname(dirname(real)), ...NODE_SHARED);
  if (/^(python|pypy)[\d.]*$/.test(name)) paths.push(...pythonFolders(prefix), ...environmentOf(program));
  return paths;
}

/** The standard library and the installed packages, wherever this Python was built to live. */
function pythonFolders(prefix: string): string[] {
  return ['lib', 'lib64', 'local/lib'].map(each => join(prefix, each));
}

/** A virtual environment: the folder above the program, if it says that it is one. */
function environmentOf(program: string): string[] {
  const folder = dirname(dirname(program));
  return existsSync(join(folder, 'pyvenv.cfg')) ? [folder] : [];
}
