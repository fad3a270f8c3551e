// The decisions in test/cases/*.yaml: a policy, perhaps a session's scope, and calls with the verdict they
// must get. Every surface runs the same files; how it asks is its own test's business.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Decision } from '../../src/core/decide.ts';
import type { Rule } from '../../src/core/policy.ts';
import { ROOT } from './service.ts';

export interface Case {
  server: string;
  tool: string;
  args?: Record<string, unknown>;
  want: { decision: Decision; ruleIndex?: number | null; reason?: string };
}

export interface CaseFile {
  /** Name of the file. */
  file: string;
  policy: { name: string; rules: Rule[] };
  /** Absent: the calls are made with the key itself. */
  session?: { scopeTools: string[] | null };
  calls: Case[];
}

const FOLDER = join(ROOT, 'test/cases');

export function caseFiles(): CaseFile[] {
  return readdirSync(FOLDER)
    .filter(file => file.endsWith('.yaml'))
    .sort()
    .map(readCaseFile);
}

function readCaseFile(file: string): CaseFile {
  const content = parse(readFileSync(join(FOLDER, file), 'utf8')) as Omit<CaseFile, 'file'>;
  known(file, content, ['policy', 'session', 'calls']);
  for (const call of content.calls) {
    known(file, call, ['server', 'tool', 'args', 'want']);
    known(file, call.want, ['decision', 'ruleIndex', 'reason']);
    if (call.want.decision === undefined) throw new Error(`${file}: a call wants no decision`);
  }
  return { file, ...content };
}

/** A misspelt field would silently test less. */
function known(file: string, value: object, fields: string[]): void {
  for (const field of Object.keys(value)) {
    if (!fields.includes(field)) throw new Error(`${file}: unknown field "${field}"`);
  }
}

export function caseTitle({ server, tool, want }: Case): string {
  return `${shortened(server)} ${shortened(tool)} is ${want.decision}`;
}

function shortened(name: string): string {
  return name.length > 40 ? `${name.slice(0, 20)}… (${[...name].length})` : name;
}
