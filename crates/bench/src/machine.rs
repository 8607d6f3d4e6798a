//! The machine, by its class and not its name.

/// Processor, memory, system: what a reader needs to place the numbers.
pub fn class() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    told(
        &read("/proc/cpuinfo"),
        &read("/proc/meminfo"),
        &read("/proc/sys/kernel/osrelease"),
    )
}

fn told(cpus: &str, memory: &str, system: &str) -> String {
    let lines = || cpus.lines();
    let model = lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("an unknown processor", |model| {
        model.trim_start_matches([' ', '\t', ':'])
    });
    let cores = lines().filter(|line| line.starts_with("processor")).count();
    let memory = memory.split_whitespace().nth(1);
    let memory = memory.and_then(|kib| kib.parse::<f64>().ok());
    let memory = memory.map_or_else(String::new, |kib| format!(", {:.0} GiB", kib / 1_048_576.0));
    let parts: Vec<&str> = system.trim().split('.').take(2).collect();
    format!(
        "{cores} cores of {model}{memory}, Linux {}",
        parts.join(".")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_told_by_its_class() {
        let cpus =
            "processor\t: 0\nmodel name\t: Some CPU\nprocessor\t: 1\nmodel name\t: Some CPU\n";
        let memory = "MemTotal:       16777216 kB\nMemFree: 1 kB\n";
        assert_eq!(
            told(cpus, memory, "6.1.0-42-amd64\n"),
            "2 cores of Some CPU, 16 GiB, Linux 6.1"
        );
        assert!(class().contains("Linux "));
    }
}
