use super::*;
use crate::upstream::{Reply, Upstream};
use std::os::unix::process::ExitStatusExt;

const LONG: Duration = Duration::from_secs(5);

fn sh(script: &str) -> Program {
    Program::new("/bin/sh").unwrap().arg("-c").arg(script)
}

fn exists(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

mod running {
    use super::*;

    #[tokio::test]
    async fn the_exit_code_is_given_back() {
        let process = sh("exit 7").start().unwrap();
        assert_eq!(process.wait_exit(LONG).await.unwrap().code(), Some(7));
        assert!(!process.signal(libc::SIGTERM).unwrap(), "it has ended");
    }

    #[tokio::test]
    async fn waiting_for_an_end_that_does_not_come_tells_the_last_lines() {
        let process = sh("echo stuck here; sleep 60").start().unwrap();
        process
            .wait_for_line(|line| line.text == "stuck here", LONG)
            .await
            .unwrap();
        let error = process
            .wait_exit(Duration::from_millis(50))
            .await
            .unwrap_err();
        assert!(matches!(error, ProcessError::TimedOut { .. }));
        assert!(error.to_string().contains("| stuck here"), "{error}");
    }

    #[tokio::test]
    async fn a_socket_that_is_handed_over_is_the_same_one() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let inode = |link: &Path| std::fs::read_link(link).unwrap();
        let ours = format!(
            "/proc/self/fd/{}",
            std::os::fd::AsRawFd::as_raw_fd(&listener)
        );
        let ours = inode(Path::new(&ours));
        let process = sh("echo $LISTEN_FDS $LISTEN_FDNAMES $(readlink /proc/$$/fd/3)")
            .socket("door", listener)
            .start()
            .unwrap();
        let line = process.wait_for_line(|_| true, LONG).await.unwrap();
        assert_eq!(line.text, format!("1 door {}", ours.display()));
    }

    #[tokio::test]
    async fn signals_arrive() {
        let process = sh("trap 'echo got it; exit 3' TERM; echo set; while :; do sleep 0.01; done")
            .start()
            .unwrap();
        process
            .wait_for_line(|line| line.text == "set", LONG)
            .await
            .unwrap();
        assert!(process.signal(libc::SIGTERM).unwrap());
        assert_eq!(process.wait_exit(LONG).await.unwrap().code(), Some(3));
        let killed = sh("exec sleep 60").start().unwrap();
        killed.signal(libc::SIGKILL).unwrap();
        assert_eq!(
            killed.wait_exit(LONG).await.unwrap().signal(),
            Some(libc::SIGKILL)
        );
    }

    #[tokio::test]
    async fn dropping_kills_and_reaps_the_program_and_what_it_started() {
        let process = sh("sleep 60 & echo $!; wait").start().unwrap();
        let line = process.wait_for_line(|_| true, LONG).await.unwrap();
        let (pid, grandchild) = (process.pid(), line.text.parse::<i32>().unwrap());
        assert!(exists(pid) && exists(grandchild));
        drop(process);
        assert!(!exists(pid));
        // The grandchild is reaped by init, or stays a zombie where init does not reap.
        let deadline = Instant::now() + LONG;
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{grandchild}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        while runs() {
            assert!(Instant::now() < deadline, "the grandchild lives on");
            tokio::time::sleep(POLL).await;
        }
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let error = Program::new("/no/such/program")
            .unwrap()
            .start()
            .unwrap_err();
        assert!(error.to_string().contains("/no/such/program"), "{error}");
    }

    #[tokio::test]
    async fn arguments_variables_config_and_directory_reach_the_program() {
        let program = Program::new("/bin/sh").unwrap();
        let script = program
            .file("s.sh", "echo \"$1 $KEY $2\"; cat \"$3\"; ls")
            .unwrap();
        let program = program
            .arg(script)
            .args(["one"])
            .env("KEY", "two")
            .config("text = 1\n");
        let process = program.unwrap().start().unwrap();
        for expected in ["one two --config", "text = 1", "s.sh"] {
            process
                .wait_for_line(|line| line.text == expected, LONG)
                .await
                .unwrap();
        }
    }

    #[tokio::test]
    async fn a_replaced_config_is_never_seen_in_part() {
        let program = sh("while :; do cat macronode.toml | wc -c; done")
            .config("")
            .unwrap();
        let process = program.start().unwrap();
        let text = "x".repeat(1_000_000);
        for _ in 0..5 {
            process.replace_config(&text).unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            process.replace_config("").unwrap();
        }
        process
            .wait_for_line(|line| line.text == "1000000", LONG)
            .await
            .unwrap();
        assert!(
            process
                .lines()
                .iter()
                .all(|line| line.text == "0" || line.text == "1000000")
        );
    }

    #[tokio::test]
    async fn vitals_are_those_of_the_program() {
        // The shell counts its own descriptors, one of them being the directory it reads.
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done
                      set -- /proc/$$/fd/*; echo fds $#; sleep 60; :";
        let process = sh(script).start().unwrap();
        let line = process
            .wait_for_line(|line| line.text.starts_with("fds "), LONG)
            .await
            .unwrap();
        let counted: usize = line.text["fds ".len()..].parse().unwrap();
        assert_eq!(
            (process.open_fds().unwrap(), process.threads().unwrap()),
            (counted - 1, 1)
        );
        assert!((100_000..50_000_000).contains(&process.resident_bytes().unwrap()));
        assert!(process.cpu_time().unwrap() >= Duration::from_millis(10));
    }
}

mod printing {
    use super::*;

    #[tokio::test]
    async fn lines_of_both_pipes_are_told_apart() {
        let process = sh("echo out; echo err >&2; printf unfinished")
            .start()
            .unwrap();
        let err = process
            .wait_for_line(|line| line.pipe == Pipe::Stderr, LONG)
            .await
            .unwrap();
        assert_eq!(err.text, "err");
        process
            .wait_for_line(|line| line.text == "unfinished", LONG)
            .await
            .unwrap();
        assert_eq!(process.lines().len(), 3);
    }

    #[tokio::test]
    async fn a_line_that_never_comes_is_not_waited_for_beyond_the_end() {
        let process = sh("echo last words; exit 4").start().unwrap();
        let begun = Instant::now();
        let error = process
            .wait_for_line(|line| line.text == "no", Duration::from_secs(60))
            .await
            .unwrap_err();
        assert!(begun.elapsed() < LONG);
        assert!(
            error.to_string().contains("exit status: 4")
                && error.to_string().contains("last words"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn the_oldest_lines_are_forgotten_but_never_the_ready_line() {
        let script = "echo noise; echo 'ready admin=127.0.0.1:1 demo=127.0.0.1:2 x=y'
                      seq 20000; echo ready again=127.0.0.1:3";
        let process = sh(script).start().unwrap();
        process
            .wait_for_line(|line| line.text.starts_with("ready again"), LONG)
            .await
            .unwrap();
        assert_eq!(process.lines().len(), 8192);
        assert!(
            process
                .lines()
                .iter()
                .all(|line| !line.text.contains("admin"))
        );
        let announced = process.announced(LONG).await.unwrap();
        assert_eq!(announced.len(), 2);
        assert_eq!(announced["demo"], "127.0.0.1:2".parse().unwrap());
        assert!(process.addr("other", LONG).await.is_err());
    }

    #[tokio::test]
    async fn an_unread_stderr_blocks_the_writer_and_a_read_one_does_not() {
        let script = "head -c 1000000 /dev/zero >&2; echo written";
        let stuck = sh(script).leave_stderr_unread().start().unwrap();
        let line = stuck
            .wait_for_line(|line| line.text == "written", Duration::from_millis(300))
            .await;
        assert!(line.is_err());
        let free = sh(script).start().unwrap();
        free.wait_for_line(|line| line.text == "written", LONG)
            .await
            .unwrap();
    }
}

mod admin {
    use super::*;

    async fn announcing(upstream: &Upstream) -> Process {
        sh(&format!(
            "echo ready admin={}; exec sleep 60",
            upstream.addr()
        ))
        .start()
        .unwrap()
    }

    #[tokio::test]
    async fn readiness_is_waited_for() {
        let upstream = Upstream::start().await.unwrap();
        upstream.set("/readyz", Reply::status(503));
        let process = announcing(&upstream).await;
        let turn = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            upstream.set("/readyz", Reply::status(200));
        };
        let begun = Instant::now();
        let (ready, ()) = tokio::join!(process.wait_ready(LONG), turn);
        ready.unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(150));
        assert!(upstream.received() > 5, "it polls");
    }

    #[tokio::test]
    async fn waiting_for_readiness_ends_with_the_time_or_the_program() {
        let upstream = Upstream::start().await.unwrap();
        upstream.set("/readyz", Reply::status(503));
        let process = announcing(&upstream).await;
        let error = process
            .wait_ready(Duration::from_millis(100))
            .await
            .unwrap_err();
        assert!(matches!(error, ProcessError::TimedOut { .. }), "{error}");
        process.signal(libc::SIGKILL).unwrap();
        let error = process
            .wait_ready_at(upstream.addr(), Duration::from_secs(60))
            .await
            .unwrap_err();
        assert!(matches!(error, ProcessError::Ended { .. }), "{error}");
    }

    #[tokio::test]
    async fn metrics_are_read_from_the_announced_address() {
        let upstream = Upstream::start().await.unwrap();
        let page =
            "# TYPE tasks counter\ntasks_total{kind=\"a\"} 2\ntasks_total{kind=\"b\"} 3\n# EOF\n";
        upstream.set("/metrics", Reply::status(200).body(page));
        let process = announcing(&upstream).await;
        assert_eq!(
            process
                .metric("tasks_total", &[("kind", "b")])
                .await
                .unwrap(),
            3.0
        );
        assert_eq!(process.metric("tasks_total", &[]).await.unwrap(), 5.0);
        upstream.set("/metrics", Reply::status(500));
        assert!(
            process
                .metrics()
                .await
                .unwrap_err()
                .to_string()
                .contains("status 500")
        );
    }
}

mod metrics_page {
    use super::*;

    #[test]
    fn samples_are_found_by_name_and_labels() {
        let page = "a 1\n\
                    b{x=\"1\",y=\"p \\\"q\\\" {=,} \\\\ \\n\"} 2.5 1700000000 # {id=\"7\"} 1\nb{x=\"2\"} +Inf\n\n# EOF";
        let metrics = Metrics::parse(page).unwrap();
        assert_eq!(metrics.get("a", &[]), Some(1.0));
        assert_eq!(
            metrics.get("b", &[("y", "p \"q\" {=,} \\ \n"), ("x", "1")]),
            Some(2.5)
        );
        assert_eq!(
            metrics.get("b", &[("x", "1")]),
            None,
            "not all labels given"
        );
        assert_eq!(metrics.sum("b", &[("x", "1")]), 2.5);
        assert_eq!(metrics.get("b", &[("x", "2")]), Some(f64::INFINITY));
        assert_eq!(
            metrics.label_values("b", "x").collect::<Vec<_>>(),
            ["1", "2"]
        );
    }

    #[test]
    fn what_is_no_sample_is_named() {
        for bad in ["a", "a{x=1} 2", "a{x=\"1} 2", "a two", "{x=\"1\"} 2"] {
            assert_eq!(
                Metrics::parse(bad).unwrap_err(),
                format!("not a sample: {bad}")
            );
        }
    }
}

mod ports {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn reserved_ports_differ_and_are_given_to_nobody_else() {
        let reserved: Vec<_> = (0..200).map(|_| Port::reserve().unwrap()).collect();
        let others: Vec<_> = (0..200)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let ours = reserved.iter().map(Port::addr);
        let theirs = others.iter().map(|listener| listener.local_addr().unwrap());
        let distinct: std::collections::BTreeSet<_> = ours.chain(theirs).collect();
        assert_eq!(distinct.len(), 400);
    }

    #[test]
    fn a_server_may_bind_a_reserved_port_again_and_again() {
        let port = Port::reserve().unwrap();
        for _ in 0..3 {
            let server = TcpListener::bind(port.addr()).unwrap();
            std::net::TcpStream::connect(port.addr()).unwrap();
            server.accept().unwrap();
        }
    }
}
