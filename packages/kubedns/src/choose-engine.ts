import { type Log, StartupError } from '@kube-dns/daemon';
import {
  chooseUdpEngine,
  EngineError,
  type UdpEngine,
  type UdpEngineChoice,
} from '@kube-dns/transport';

const EXIT_FATAL = 255;

/** The UDP engine that is asked for, logged. Throws a StartupError when `batch` cannot be had. */
export async function chooseEngine(choice: UdpEngineChoice, log: Log): Promise<UdpEngine> {
  try {
    const { engine, description } = await chooseUdpEngine(choice);
    log.info(`UDP engine: ${description}`);
    return engine;
  } catch (error) {
    if (error instanceof EngineError) throw new StartupError(error.message, EXIT_FATAL);
    throw error;
  }
}
