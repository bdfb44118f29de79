"""The tests that a profiling course gives its readers, line by line; only the imports are ours."""

import time

import numpy as np
import pytest

import assay
from assay import Conv2d, Linear, Profiler, Sequential, Tensor, profile_backward_pass, profile_forward_pass


def test_unit_parameter_counting():
    profiler = Profiler()

    class SimpleModel:
        def __init__(self):
            self.weight = Tensor(np.random.randn(10, 5))
            self.bias = Tensor(np.random.randn(5))

        def parameters(self):
            return [self.weight, self.bias]

    assert profiler.count_parameters(SimpleModel()) == 10 * 5 + 5

    class NoParamModel:
        def __init__(self):
            pass

    assert profiler.count_parameters(NoParamModel()) == 0
    assert profiler.count_parameters(Tensor(np.random.randn(2, 3))) == 0


def test_unit_flop_counting():
    profiler = Profiler()
    assert profiler.count_flops(Tensor(np.random.randn(4, 8)), (4, 8)) == 4 * 8

    class MockLinear:
        def __init__(self, in_features, out_features):
            self.weight = Tensor(np.random.randn(in_features, out_features))
            self.__class__.__name__ = "Linear"

    mock_linear = MockLinear(128, 64)
    flops_batch1 = profiler.count_flops(mock_linear, (1, 128))
    flops_batch32 = profiler.count_flops(mock_linear, (32, 128))
    assert flops_batch1 == flops_batch32 == 128 * 64 * 2


def test_unit_memory_measurement():
    profiler = Profiler()
    memory_stats = profiler.measure_memory(Tensor(np.random.randn(10, 20)), (10, 20))
    for key in ["parameter_memory_mb", "activation_memory_mb", "peak_memory_mb", "memory_efficiency"]:
        assert memory_stats[key] >= 0, key
    small_memory = profiler.measure_memory(Tensor(np.random.randn(5, 5)), (5, 5))
    large_memory = profiler.measure_memory(Tensor(np.random.randn(50, 50)), (50, 50))
    assert large_memory["activation_memory_mb"] >= small_memory["activation_memory_mb"]
    assert 0 <= memory_stats["memory_efficiency"] <= 1.0


def test_unit_latency_measurement():
    profiler = Profiler()
    test_tensor = Tensor(np.random.randn(4, 8))
    latency = profiler.measure_latency(test_tensor, test_tensor, warmup=2, iterations=5)
    assert 0 <= latency < 1000
    for size in (2, 20):
        tensor = Tensor(np.random.randn(size, size))
        assert profiler.measure_latency(tensor, tensor, warmup=1, iterations=3) >= 0


def test_unit_advanced_profiling():
    test_input = Tensor(np.random.randn(4, 8))
    forward_profile = profile_forward_pass(test_input, test_input)
    for key in ["parameters", "flops", "latency_ms", "gflops_per_second", "memory_bandwidth_mbs", "bottleneck"]:
        assert key in forward_profile, key
    for key in ["parameters", "flops", "latency_ms", "gflops_per_second"]:
        assert forward_profile[key] >= 0, key

    backward_profile = profile_backward_pass(test_input, test_input)
    for key in ["forward_flops", "backward_flops", "total_flops", "total_latency_ms", "total_memory_mb",
                "optimizer_memory_estimates"]:
        assert key in backward_profile, key
    assert backward_profile["total_flops"] >= backward_profile["forward_flops"]
    assert backward_profile["total_latency_ms"] >= backward_profile["forward_latency_ms"]
    assert "sgd" in backward_profile["optimizer_memory_estimates"]
    assert "adam" in backward_profile["optimizer_memory_estimates"]
    assert backward_profile["backward_flops"] >= backward_profile["forward_flops"]
    assert backward_profile["gradient_memory_mb"] >= 0


def test_module():
    profiler = Profiler()
    test_model, test_input = Tensor(np.random.randn(16, 32)), Tensor(np.random.randn(8, 16))
    assert profiler.count_parameters(test_model) >= 0
    assert profiler.count_flops(test_model, test_input.shape) >= 0
    assert profiler.measure_memory(test_model, test_input.shape)["peak_memory_mb"] >= 0
    assert profiler.measure_latency(test_model, test_input, warmup=2, iterations=5) >= 0
    forward_profile = profile_forward_pass(test_model, test_input)
    backward_profile = profile_backward_pass(test_model, test_input)
    assert forward_profile["gflops_per_second"] >= 0
    assert backward_profile["total_latency_ms"] >= 0
    assert forward_profile["bottleneck"] in ["memory", "compute"]
    assert 0 <= forward_profile["computational_efficiency"] <= 1
    large_input = Tensor(np.random.randn(32, 512))
    large_profile = profile_forward_pass(large_input, large_input)
    assert f"{large_profile['memory_bandwidth_mbs']:.1f}" and large_profile["bottleneck"] in ["memory", "compute"]


def test_examples_of_docstrings():
    linear = Linear(128, 64)
    profiler = Profiler()
    assert profiler.count_parameters(linear) == 8256
    assert profiler.count_flops(linear, (1, 128)) == 16384
    memory = profiler.measure_memory(Linear(1024, 512), (32, 1024))
    assert f"{memory['parameter_memory_mb']:.1f}" == "2.0"
    assert profiler.measure_latency(linear, Tensor(np.random.randn(1, 128))) > 0
    profile = profiler.profile_forward_pass(Linear(256, 128), Tensor(np.random.randn(32, 256)))
    assert profile["gflops_per_second"] > 0
    profile = profiler.profile_backward_pass(Linear(128, 64), Tensor(np.random.randn(16, 128)))
    assert profile["total_latency_ms"] > 0


def test_a_model_of_layers_is_what_it_calls():
    class Network:
        def __init__(self):
            self.first, self.second = Linear(784, 128), Linear(128, 10)

        def parameters(self):
            return self.first.parameters() + self.second.parameters()

        def forward(self, x):
            hidden = Tensor(np.maximum(self.first(x).data, 0))
            return self.second.forward(hidden)

    network, x = Network(), Tensor(np.random.randn(4, 784))
    profiler = Profiler()
    assert profiler.count_parameters(network) == 784 * 128 + 128 + 128 * 10 + 10
    assert profiler.count_flops(network, (1, 784)) == 2 * 784 * 128 + 2 * 128 * 10
    assert profile_forward_pass(network, x)["parameters"] == profiler.count_parameters(network)
    assert profiler.measure_latency(network, x, warmup=1, iterations=3) > 0

    class Sum:
        def __init__(self):
            self.a, self.b = Linear(8, 4), Linear(8, 4)

        def forward(self, x):
            return Tensor(self.a(x).data + self.b(x).data)

    with pytest.raises(assay.Error, match="do not follow one another"):
        profiler.count_flops(Sum(), (1, 8))


def test_scaling_and_batch_sizes_with_the_profiler():
    profiler = Profiler()
    for size in [64, 128, 256, 512]:
        input_shape = (32, size)
        dummy_input = Tensor(np.random.randn(*input_shape))
        latency = profiler.measure_latency(dummy_input, dummy_input, warmup=3, iterations=10)
        memory = profiler.measure_memory(dummy_input, input_shape)
        assert latency > 0 and memory["peak_memory_mb"] > 0
    for batch_size in [1, 8, 32, 128]:
        dummy_input = Tensor(np.random.randn(batch_size, 256))
        assert profiler.measure_latency(dummy_input, dummy_input, warmup=3, iterations=10) > 0


def test_overhead_with_the_profiler():
    test_tensor = Tensor(np.random.randn(100, 100))
    start_time = time.perf_counter()
    for _ in range(5):
        _ = test_tensor.data.copy()
        _ = Profiler().measure_latency(test_tensor, test_tensor, warmup=1, iterations=1)
    assert time.perf_counter() > start_time


def test_layers_have_the_usual_attributes():
    linear = Linear(128, 64)
    assert linear.weight.shape == (128, 64) and linear.bias.shape == (64,)
    assert sum(parameter.data.size for parameter in linear.parameters()) == 8256
    x = Tensor(np.random.randn(2, 128))
    expected = x.data @ linear.weight.data + linear.bias.data
    for output in (linear(x), linear.forward(x)):
        assert np.allclose(output.data, expected, atol=1e-5)
    assert Linear(4, 2, bias=False).bias is None
    assert len(Sequential([linear, assay.Relu(), Linear(64, 10)]).parameters()) == 4
    assert len(assay.BatchNorm2d(8).parameters()) == 2  # running statistics are not
    assert Conv2d(3, 64, 7, stride=2, padding=3)(Tensor(np.zeros((1, 3, 224, 224)))).shape == (1, 64, 112, 112)
