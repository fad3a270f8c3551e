// Reads policy files for commands and prints their problems in the style of a compiler. core/policy-file.ts and
// core/policy-text.ts define the format.

import { basename } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { type CompiledPolicy, compilePolicy } from '../core/compiled-policy.ts';
import type { Rule } from '../core/policy.ts';
import { type Problem, parsePolicy } from '../core/policy-file.ts';
import { visible } from '../core/visible.ts';
import { CliError } from './exit.ts';
import { type IO, readText, shownFile } from './io.ts';

export interface NamedPolicy {
  name: string | null;
  /** Undefined when the file has no description. */
  description: string | undefined;
  rules: Rule[];
}

/** A valid policy; otherwise the command ends, with every error on stderr. */
export async function readPolicy(io: IO, file: string, exitCode: number): Promise<NamedPolicy> {
  return policyIn(io, await readText(io, file), file, exitCode);
}

export function policyIn(io: IO, text: string, file: string, exitCode: number): NamedPolicy {
  const { policy, problems } = parsePolicy(text);
  if (policy !== null) return { ...policy, description: descriptionIn(text) };
  for (const problem of problems) io.stderr.write(`${problemLine(io, file, problem, 'stderr')}\n`);
  throw new CliError(exitCode, `${shownFile(file)} is not a valid policy.`);
}

/** The text with everything outside a range replaced by blanks, so that the rest keeps its lines and columns. */
export function cutOut(text: string, [start, end]: readonly number[]): string {
  const blank = (part: string) => part.replace(/[^\n]/g, ' ');
  return blank(text.slice(0, start)) + text.slice(start, end) + blank(text.slice(end));
}

function descriptionIn(text: string): string | undefined {
  const content = parseYaml(text) as { description?: string } | unknown[];
  return Array.isArray(content) ? undefined : content.description;
}

export function problemLine(io: IO, file: string, problem: Problem, to: 'stdout' | 'stderr'): string {
  const { severity, line, column, message } = problem;
  const word = io[to].style(severity === 'error' ? 'red' : 'yellow', severity);
  return `${shownFile(file)}:${line}:${column}: ${word}: ${visible(message)}`;
}

/** Compiles a policy under its own name, or else under the name of the file. */
export function compiled(policy: NamedPolicy, file: string): CompiledPolicy {
  const name = policy.name ?? (file === '-' ? 'policy' : basename(file).replace(/\.(ya?ml|json)$/i, ''));
  return compilePolicy({ id: '', version: 0, name, rules: policy.rules });
}
