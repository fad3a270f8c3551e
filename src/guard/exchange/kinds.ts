// What replicas give each other: the details of calls that wait for approval, and the results of tasks. Each kind has its
// own hints and bounds, and its name is part of every MAC and key, so that no message serves for another kind.

const KIB = 1024;
const MIB = 1024 * KIB;

export interface Kind {
  name: 'details' | 'result';
  /** The length of an answer is one of a few sizes, so that it says little about what is in it. */
  sizes: readonly number[];
  /**
   * How long each attempt waits, once its question was sent, and again after each part that came. The second one is for a
   * message that was lost, or that came before the holder had the bytes.
   */
  waitsMs: readonly number[];
  /**
   * Questions of this replica under way at a time. They are few, because whoever holds the bytes has to answer them all in
   * time, since what is not answered counts as gone. Fewer would make people wait where many things are gone.
   */
  mostAsked: number;
  /** Characters of parts that are kept at a time, and bytes that are being answered with. */
  mostKept: number;
}

const SMALL = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048].map(size => size * KIB);

export const DETAILS: Kind = {
  name: 'details',
  sizes: SMALL,
  waitsMs: [300, 700],
  mostAsked: 64,
  mostKept: 32 * MIB,
};

/** A task whose result seems to be gone is told so for good. So more patience is taken than for details. */
export const RESULT: Kind = {
  name: 'result',
  sizes: [...SMALL, 4 * MIB, 6 * MIB, 8 * MIB],
  waitsMs: [500, 2500],
  mostAsked: 64,
  mostKept: 64 * MIB,
};

export const largestOf = ({ sizes }: Kind): number => sizes.at(-1) as number;
