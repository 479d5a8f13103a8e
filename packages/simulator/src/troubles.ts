/**
 * What an answer depends on: each program and each link on its way from the objects to the client. Parts have names:
 * `dns-0/kubedns`, `api|dns-0`.
 */
export interface Way {
  readonly parts: ReadonlySet<string>;
  /** Caches in a row between the program that has the objects, or the name server, and the client. */
  readonly caches: number;
}

/** Touches every way: all links. */
export const EVERYTHING = '*';

/** The ConfigMap of kube-dns: answers do not depend on it that it is right, pages do. */
export const CONFIG_PART = 'config';

export function programPart(machine: string, program: string): string {
  return `${machine}/${program}`;
}

export function linkPart(one: string, other: string): string {
  return one < other ? `${one}|${other}` : `${other}|${one}`;
}

interface Trouble {
  readonly fromUs: number;
  /** When it is undone. */
  readonly overUs: number;
  /** With the time in which all comes back. */
  readonly untilUs: number;
  readonly parts: readonly string[];
  readonly hidesApi: boolean;
  /** Answers may be old, not missing. */
  readonly isOfApi: boolean;
  /** Until then the parts do not work at all. */
  readonly isStop: boolean;
}

/** What was not as it should be, when, and on which ways. */
export class Troubles {
  readonly #all: Trouble[] = [];
  #untilUs = 0;

  /** Troubles are added in the order of their beginnings. */
  add(trouble: Trouble): void {
    this.#all.push(trouble);
    this.#untilUs = Math.max(this.#untilUs, trouble.untilUs);
  }

  /**
   * Since when something was wrong on a way without a break, at some time from one time to another; undefined when nothing
   * was. `hidesApi`: only what hides the API server, and, with `program`, what stops that.
   */
  since(
    way: Way,
    fromUs: number,
    toUs: number,
    hidesApi = false,
    program?: string,
  ): number | undefined {
    if (fromUs > this.#untilUs) return undefined;
    const touching = this.#all.filter((trouble) => {
      const counts = !hidesApi || trouble.hidesApi || isOfProgram(trouble, way, program);
      return counts && touches(trouble, way);
    });
    let sinceUs: number | undefined;
    for (const trouble of touching) {
      if (trouble.fromUs > toUs || trouble.untilUs < fromUs) continue;
      sinceUs = Math.min(sinceUs ?? trouble.fromUs, trouble.fromUs);
    }
    // One that had not ended when the next one began is the same.
    for (const { fromUs: beganUs, untilUs } of touching.reverse()) {
      if (sinceUs !== undefined && beganUs < sinceUs && untilUs >= sinceUs) sinceUs = beganUs;
    }
    return sinceUs;
  }

  /** Whether something was wrong with this program on a way, at some time: it may have started again. */
  mayRestart(way: Way, program: string, fromUs: number, toUs: number): boolean {
    return this.#all.some(
      (trouble) =>
        trouble.fromUs <= toUs && trouble.untilUs >= fromUs && isOfProgram(trouble, way, program),
    );
  }

  /** Whether questions may have no answer: something other than the API server was wrong on a way, at some time. */
  mayFail(way: Way, fromUs: number, toUs: number): boolean {
    return this.#all.some(
      (trouble) =>
        !trouble.isOfApi && touches(trouble, way) && trouble.fromUs <= toUs && trouble.untilUs >= fromUs, // prettier-ignore
    );
  }

  /** For how long one of these parts has not worked at all, in microseconds; 0 when each works, or may. */
  stoppedForUs(parts: readonly string[], nowUs: number): number {
    let [sinceUs, mayWorkUs] = [nowUs, 0];
    for (const { fromUs, overUs, parts: touched, isStop } of this.#all) {
      if (!touched.some((part) => parts.includes(part))) continue;
      if (isStop && overUs > nowUs) sinceUs = Math.min(sinceUs, fromUs);
      // One that is undone may undo another: a program that was killed twice starts after the first pause that is over.
      else mayWorkUs = Math.max(mayWorkUs, overUs);
    }
    return mayWorkUs > sinceUs ? 0 : nowUs - sinceUs;
  }

  /** Whether something is wrong anywhere. */
  isAnyAt(atUs: number): boolean {
    return atUs <= this.#untilUs;
  }
}

function isOfProgram({ parts }: Trouble, way: Way, program: string | undefined): boolean {
  if (program === undefined) return false;
  return parts.some((part) => part.endsWith(`/${program}`) && way.parts.has(part));
}

function touches({ parts }: Trouble, way: Way): boolean {
  return parts.some((part) => part === EVERYTHING || way.parts.has(part));
}
