// The programs of others that the benchmark measures beside Toolgate and that npm does not install with the bench's own
// packages: their versions, where they lie, and the commands that bring them. fetch.ts runs those commands; a line whose
// program is not there is left out.

import * as fs from 'node:fs';
import * as path from 'node:path';

export interface Program {
  title: string;
  version: string;
  /** The executable, inside the program's folder. */
  executable: string;
  /**
   * The commands that bring it, run one after another inside that folder. None: no package registry has it, and whoever
   * has the program puts it there.
   */
  commands: string[][];
}

const CERBOS = '0.51.0';
const CONTEXTFORGE = '1.0.7';
const FARAMESH = '1.2.9';
const OPA = '1.22.0';

export const PROGRAMS = {
  opa: {
    title: 'OPA',
    version: OPA,
    executable: 'opa',
    commands: [['go', 'install', `github.com/open-policy-agent/opa@v${OPA}`]],
  },
  cerbos: {
    title: 'Cerbos',
    version: CERBOS,
    executable: `node_modules/@cerbos/cerbos-linux-${process.arch}/cerbos-linux-${process.arch}`,
    commands: [['npm', 'install', '--no-save', '--no-audit', '--prefix', '.', `cerbos@${CERBOS}`]],
  },
  faramesh: {
    title: 'Faramesh',
    version: FARAMESH,
    executable: 'faramesh',
    commands: [],
  },
  contextforge: {
    title: 'ContextForge',
    version: CONTEXTFORGE,
    executable: 'bin/mcpgateway',
    commands: [
      ['python3', '-m', 'venv', '.'],
      ['bin/pip', 'install', '--quiet', `mcp-contextforge-gateway==${CONTEXTFORGE}`],
    ],
  },
} satisfies Record<string, Program>;

export type ProgramName = keyof typeof PROGRAMS;

const FOLDER = process.env.TOOLGATE_BENCH_FIELD ?? path.join(import.meta.dirname, '..', '.field');

/** A folder for each version, so that another version is never taken for this one. */
export const folderOf = (name: ProgramName): string =>
  path.resolve(FOLDER, `${name}-${PROGRAMS[name].version}`);

export const executableOf = (name: ProgramName): string =>
  path.join(folderOf(name), PROGRAMS[name].executable);

export const isThere = (name: ProgramName): boolean => fs.existsSync(executableOf(name));

/** The name and version for a label. */
export const titleOf = (name: ProgramName): string => `${PROGRAMS[name].title} ${PROGRAMS[name].version}`;
