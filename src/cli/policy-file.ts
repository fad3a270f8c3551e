// Reads policy files for commands, prints their problems in the style of a compiler, and says what is sent to the
// service. core/policy-file/policy-file.ts and core/policy-file/policy-text.ts define the format.

import { basename } from 'node:path';
import type { WholePolicy } from '../core/api/resources.ts';
import { type CompiledPolicy, compilePolicy } from '../core/policy/compiled-policy.ts';
import { type Limits, MAX_TEXT, type Rule } from '../core/policy/policy.ts';
import type { ResultEntry } from '../core/policy/result-fields.ts';
import { type Problem, parsePolicy } from '../core/policy-file/policy-file.ts';
import { entryLine, limitLine, ruleLine } from '../core/policy-file/policy-text.ts';
import { visible } from '../core/text/visible.ts';
import { CliError } from './exit.ts';
import { type IO, readText, shownFile } from './io.ts';

export interface NamedPolicy {
  name: string | null;
  /** Undefined when the file has no description. */
  description: string | undefined;
  rules: Rule[];
  limits: Limits;
  results: readonly ResultEntry[];
  /** What the service keeps; null when the policy cannot be cut out of its file. */
  text: string | null;
}

/** A valid policy; otherwise the command ends, with every error on stderr. */
export async function readPolicy(io: IO, file: string, exitCode: number): Promise<NamedPolicy> {
  return policyIn(io, await readText(io, file), file, exitCode);
}

export function policyIn(io: IO, text: string, file: string, exitCode: number): NamedPolicy {
  const { policy, problems } = parsePolicy(text);
  if (policy !== null) return { ...policy, description: policy.description ?? undefined, text };
  for (const problem of problems) io.stderr.write(`${problemLine(io, file, problem, 'stderr')}\n`);
  throw new CliError(exitCode, `${shownFile(file)} is not a valid policy.`);
}

/** The text with everything outside a range replaced by blanks, so that the rest keeps its lines and columns. */
export function cutOut(text: string, [start, end]: readonly number[]): string {
  const blank = (part: string) => part.replace(/[^\n]/g, ' ');
  return blank(text.slice(0, start)) + text.slice(start, end) + blank(text.slice(end));
}

/** A policy inside a larger file, with the text that it would have in a file of its own. */
export function policyWithin(io: IO, text: string, range: readonly number[], file: string, exitCode: number) {
  const policy = policyIn(io, cutOut(text, range), file, exitCode);
  const alone = movedLeft(text, range);
  const same =
    JSON.stringify(parsePolicy(alone).policy) === JSON.stringify(parsePolicy(policy.text ?? '').policy);
  return { ...policy, text: same ? alone : null };
}

/** The range of the text, without the indentation that it has in the file. */
function movedLeft(text: string, [start = 0, end]: readonly number[]): string {
  const column = start - (text.lastIndexOf('\n', start - 1) + 1);
  const part = text.slice(start, end).replaceAll(new RegExp(`\n {0,${column}}`, 'g'), '\n');
  return `${part.trimEnd()}\n`;
}

/**
 * What the service is sent for a policy of this name: the text, which it keeps; or the rules, if the text is too long
 * for it or gives the policy another name.
 */
export function policyBody(name: string, policy: NamedPolicy) {
  const { description, rules, limits, results, text } = policy;
  if (text !== null && text.length <= MAX_TEXT && (policy.name ?? name) === name) return { name, text };
  return {
    name,
    ...(description === undefined ? {} : { description }),
    rules,
    limits,
    ...(results.length > 0 && { results }),
  };
}

/** The lines in which a policy differs from another: its description, its limits, its rules and its entries of `results`. */
export function linesOf(
  policy: Pick<NamedPolicy, 'rules' | 'limits' | 'results'> & { description?: string | undefined },
) {
  const about = policy.description ? [`description: ${visible(policy.description)}`] : [];
  const limits = Object.entries(policy.limits).map(
    ([name, limit]) => `limit ${limitLine(name, limit).trim()}`,
  );
  const results = policy.results.map(entry => `result ${entryLine(entry).trim()}`);
  return [...about, ...limits, ...policy.rules.map(ruleLine), ...results];
}

/** Whether the service would keep another text than it has now. */
export function textDiffers(current: WholePolicy, name: string, policy: NamedPolicy): boolean {
  const { text } = policyBody(name, policy);
  return text !== undefined && text !== current.text;
}

export function problemLine(io: IO, file: string, problem: Problem, to: 'stdout' | 'stderr'): string {
  const { severity, line, column, message } = problem;
  const word = io[to].style(severity === 'error' ? 'red' : 'yellow', severity);
  return `${shownFile(file)}:${line}:${column}: ${word}: ${visible(message)}`;
}

/** Compiles a policy under its own name, or else under the name of the file. */
export function compiled({ name, rules, limits, results }: NamedPolicy, file: string): CompiledPolicy {
  const shown = name ?? (file === '-' ? 'policy' : basename(file).replace(/\.(ya?ml|json)$/i, ''));
  return compilePolicy({ id: '', version: 0, name: shown, rules, limits, results });
}
