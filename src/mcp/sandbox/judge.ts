// Which limits of a sandbox hold on this machine, and why others do not. Pure: features.ts looks at the machine.

import type { Sandbox } from '../../settings/sandbox.ts';
import type { Features } from './plan.ts';

export interface Judgement {
  /** The fields of the sandbox that the kernel enforces here. */
  enforced: string[];
  /** `isolation`: that the command can neither end, trace nor change other processes, without which no limit is safe. */
  notEnforced: { what: string; why: string }[];
}

/** Landlock's versions, and the kernels that brought them. */
const TRUNCATE_VERSION = 3;
const SIGNALS_VERSION = 6;
const NO_FILTER = 'seccomp filters are not there, or forbidden';
const NO_QUESTIONS =
  'seccomp cannot ask about forks here (it needs Linux 5.5, and no container that asks by itself)';

/** Without a reason, the field is enforced. */
type Reason = (features: Features) => string | null;

const REASONS: Record<'read' | 'write' | 'network' | 'memory' | 'processes', Reason> = {
  read: ({ landlock, noLandlock }) => (landlock === 0 ? noLandlock : null),
  write: ({ landlock, noLandlock }) => {
    if (landlock === 0) return noLandlock;
    if (landlock >= TRUNCATE_VERSION) return null;
    return `Landlock of version ${landlock} cannot keep files from being truncated; Linux 6.2 can`;
  },
  network: ({ filter }) => (filter ? null : NO_FILTER),
  memory: () => null,
  processes: ({ asks }) => (asks ? null : NO_QUESTIONS),
};

export function judge(sandbox: Sandbox, features: Features): Judgement {
  const given = {
    read: sandbox.read !== null,
    write: sandbox.write !== null,
    network: !sandbox.network,
    memory: sandbox.memory !== null,
    processes: sandbox.processes !== null,
  };
  const judged = Object.entries(REASONS).flatMap(([what, reason]) =>
    given[what as keyof typeof given] ? [{ what, why: whyNot(reason, features) }] : [],
  );
  judged.push({ what: 'isolation', why: whyNot(noIsolation, features) });
  return {
    enforced: judged.flatMap(({ what, why }) => (why === null && what !== 'isolation' ? [what] : [])),
    notEnforced: judged.flatMap(({ what, why }) => (why === null ? [] : [{ what, why }])),
  };
}

function whyNot(reason: Reason, features: Features): string | null {
  if (!features.supported) return 'commands are confined on Linux only, on x86-64 and arm64';
  return reason(features);
}

function noIsolation({ landlock, noLandlock, filter }: Features): string | null {
  if (!filter) return NO_FILTER;
  if (landlock === 0) return noLandlock;
  if (landlock >= SIGNALS_VERSION) return null;
  return `Landlock of version ${landlock} cannot keep it from ending other processes of its user; Linux 6.12 can`;
}

/** One sentence about all that is missing, or null. */
export function missing({ notEnforced }: Judgement): string | null {
  if (notEnforced.length === 0) return null;
  return notEnforced
    .map(
      ({ what, why }) => `${what === 'isolation' ? what : `sandbox.${what}`} cannot be enforced here: ${why}`,
    )
    .join('; ');
}
