// toolgate approvals verify: checks the signatures of those who approved a call, offline. The proofs come from the service
// or from a file; either way core/approvals/proof-check.ts computes everything again and believes nothing.

import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { ApprovalProofs } from '../../core/api/resources.ts';
import { APPROVAL_STATUSES, RESOLUTIONS, type Resolution } from '../../core/approvals/approval.ts';
import { fingerprintOf } from '../../core/approvals/assertion.ts';
import { type Checked, checkProofs, type KnownKey } from '../../core/approvals/proof-check.ts';
import type { Finding } from '../../core/approvals/proof-record.ts';
import { normalEmail } from '../../core/text/email.ts';
import { joinName } from '../../core/text/name.ts';
import { visible } from '../../core/text/visible.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, readText, say, shownFile } from '../io.ts';
import { printJson, time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

const REFERENCE = '01890000-0000-7000-8000-000000000000';
const FINGERPRINT = /^SHA256:[\w-]{43}$/;
const PUBLIC_KEY = /^[\w-]{44,4096}$/;

interface VerifyOptions extends AdminOptions {
  file?: string;
  save?: string;
  key?: string[];
}

export function verifyCommand(io: IO): Command {
  const what =
    'Verify offline who signed an approval, for which call and which answer. Exit 0: approved, and all is good; 1: something is not, or it was not approved; 2: it is pending; 3: cannot be read.';
  const examples = [
    `toolgate approvals verify ${REFERENCE}`,
    `toolgate approvals verify ${REFERENCE} --save proofs.json`,
    `toolgate approvals verify ${REFERENCE} --file proofs.json --key ann@example.com=SHA256:…`,
  ];
  const made = command('verify', what, examples)
    .argument('<referenceId>', 'as listed')
    .option('--file <file>', 'proofs that were saved before; the service is not asked')
    .option('--save <file>', 'write the proofs to a file, to verify them elsewhere')
    .option(
      '--key <keys...>',
      'public keys that you know, or their fingerprints; as <e-mail>=<key> of one person',
    );
  return withAdmin(made).action(async (referenceId: string, options: VerifyOptions) => {
    const known = await Promise.all((options.key ?? []).map(knownKey));
    const given = await proofsFor(io, referenceId, options);
    if (options.save !== undefined) save(io, options.save, given);
    const checked = await checkProofs(given, referenceId, known);
    if (options.json) printJson(io, checked);
    else explain(io, given, checked);
    const code = exitOf(checked);
    if (code !== EXIT.ok) io.exit(code);
  });
}

/** As for `check`: only 0 means that the call may proceed. */
function exitOf({ good, status }: Checked): number {
  if (good && status === 'approved') return EXIT.ok;
  return good && status === 'pending' ? EXIT.pending : EXIT.failed;
}

async function proofsFor(io: IO, referenceId: string, options: VerifyOptions): Promise<ApprovalProofs> {
  const { file } = options;
  if (file === undefined)
    return asAdmin(io, options).get<ApprovalProofs>(`/approvals/${encodeURIComponent(referenceId)}/proofs`);
  const read = jsonIn(await readText(io, file));
  if (!isProofs(read))
    throw new CliError(
      EXIT.noAnswer,
      `${shownFile(file)} does not hold proofs: make it with approvals verify --save.`,
    );
  return read;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function save(io: IO, file: string, given: ApprovalProofs): void {
  try {
    writeFileSync(resolve(io.cwd, file), `${JSON.stringify(given, null, 2)}\n`);
  } catch (error) {
    throw new CliError(EXIT.noAnswer, `${visible(file)} cannot be written: ${(error as Error).message}`);
  }
}

/** Somebody else may have written the file: it must have all that is read of it. */
function isProofs(value: unknown): value is ApprovalProofs {
  const texts = (of: unknown, ...names: string[]): of is Record<string, unknown> =>
    typeof of === 'object' &&
    of !== null &&
    names.every(name => typeof (of as Record<string, unknown>)[name] === 'string');
  const listOf = (list: unknown, is: (each: unknown) => boolean): boolean =>
    Array.isArray(list) && list.every(is);
  if (!texts(value, 'referenceId', 'toolCallId', 'serverName', 'toolName', 'askedAt', 'argsDigest', 'status'))
    return false;
  const votes = value['votes'];
  const isProof = (each: unknown): boolean =>
    texts(
      each,
      'by',
      'operatorId',
      'at',
      'nonce',
      'credentialId',
      'publicKey',
      'fingerprint',
      'rpId',
      'origin',
    ) &&
    RESOLUTIONS.includes(each['action'] as Resolution) &&
    texts(each['response'], 'id') &&
    texts(each['response']['response'], 'clientDataJSON', 'authenticatorData', 'signature');
  return (
    texts(votes) &&
    typeof votes['needed'] === 'number' &&
    listOf(votes['approved'], each => texts(each, 'by', 'at')) &&
    listOf(value['proofs'], isProof) &&
    [null, 'passkey'].includes(value['proof'] as null) &&
    APPROVAL_STATUSES.includes(value['status'] as ApprovalProofs['status']) &&
    (value['resolvedAt'] === null || texts(value, 'resolvedAt'))
  );
}

async function knownKey(given: string): Promise<KnownKey> {
  const [, email = null, key = ''] = /^(?:([^=]*@[^=]*)=)?(.*)$/s.exec(given) ?? [];
  if (!FINGERPRINT.test(key) && !PUBLIC_KEY.test(key))
    throw usageError(
      `--key ${visible(given)} is neither a fingerprint (SHA256:…) nor a public key in base64url, with or without <e-mail>= before it.`,
    );
  const fingerprint = FINGERPRINT.test(key) ? key : await fingerprintOf(key);
  return { email: email === null ? null : normalEmail(email), fingerprint };
}

function explain(io: IO, given: ApprovalProofs, { good, findings, proofs }: Checked): void {
  const { serverName, toolName, askedAt, status, toolCallId } = given;
  const lines = [
    `${visible(joinName(serverName, toolName))}, asked ${time(askedAt)}: ${visible(status)} (audit entry ${visible(toolCallId)})`,
    ...findings.map(each => line(io, each)),
  ];
  proofs.forEach((proof, index) => {
    const at = given.proofs[index]?.at ?? null;
    lines.push('', `${visible(proof.by.replace(/^operator:/, ''))}, ${time(at)}`);
    lines.push(...proof.findings.map(each => line(io, each)));
  });
  io.stdout.write(`${lines.join('\n')}\n`);
  say(io, summary(good, status, proofs.length));
}

function summary(good: boolean, status: Checked['status'], count: number): string {
  if (!good) return 'Something is wrong: see the lines that begin with "bad".';
  const signed = count === 0 ? 'Nobody has signed an answer' : 'All signatures are good';
  if (status === 'approved') return `${signed}.`;
  return `${signed}, but the call is not approved: it is ${status.replace('_', ' ')}.`;
}

function line(io: IO, { good, text }: Finding): string {
  if (good === null) return `  -     ${text}`;
  return good ? `  good  ${text}` : `  ${io.stdout.style('red', 'bad')}   ${text}`;
}
